"""Events verified and records damaged, on the records' first page and the board, by plain SQL."""

from __future__ import annotations

import random
import re
from html import unescape

import pytest

from dashboard.records.background.verification import verify_everything
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one
from tests.unit.dashboard import scene
from tests.unit.dashboard.records.test_verify import alter

pytestmark = pytest.mark.django_db
EVENTS = """
SELECT (SELECT count(*) FROM gp_event e JOIN gp_thread t ON t.id = e.thread_id
  WHERE t.workspace_id = %(id)s)
  + (SELECT count(*) FROM gp_workspace_event WHERE workspace_id = %(id)s)
"""
PAGES = ("/admin/", "/")


def heads(cast: Cast) -> list[str]:
    """The words of the pages that say how the record stands."""
    pages = [cast.client("auditor").get(page).content.decode() for page in PAGES]
    return [" ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split()) for page in pages]


def test_how_many_events_are_verified_and_how_many_records_damaged(cast: Cast) -> None:
    dice, agent = random.Random(8), scene.make_agent()
    threads = []
    for _ in range(12):
        work = scene.lease(scene.start(cast.workspace, agent))
        for n in range(dice.randrange(1, 12)):
            scene.step(work, report=f"draft {n}")
        threads.append(work.thread)
    list(verify_everything(owner="worker:1:boot", every_seconds=0))
    n_events = one(EVENTS, {"id": cast.workspace})
    assert n_events > 60
    for text in heads(cast):
        assert "ewer ones" in text
        assert re.search(rf"{n_events:,} events verified by [\d:]+ \( ?\d* ?(now|s|min) ?\)", text)
        assert "damaged" not in text
    broken = 0
    for more in (1, 3):
        for thread in threads[broken : broken + more]:
            alter(
                "UPDATE gp_event SET data_hash = '\\x00' WHERE thread_id = %s AND seq = 1", thread
            )
        broken += more
        list(verify_everything(owner="worker:1:boot", every_seconds=0))
        n = one(
            "SELECT count(DISTINCT thread_id) FROM gp_event WHERE data_hash = '\\x00' "
            "AND workspace_id = %s", (cast.workspace,),
        )  # fmt: skip
        assert n == broken
        for text in heads(cast):
            assert f"{n} record{'' if n == 1 else 's'} damaged" in text
