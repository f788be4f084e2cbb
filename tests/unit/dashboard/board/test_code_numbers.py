"""How many threads wait for a choice of code, on page and board, equals a count by plain SQL."""

from __future__ import annotations

import importlib
import random
import re
from html import unescape

import pytest

from checkpoints import store
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one
from tests.unit.dashboard.threads.test_code_changes import parked

pytestmark = pytest.mark.django_db
# The same thread stopped with, and is offered, the same code.
ALIKE = """
SELECT count(*) FROM gp_thread t, gp_thread one WHERE one.id = %s AND t.status = 'attention'
  AND t.workspace_id = one.workspace_id AND t.agent_version_id = one.agent_version_id
  AND t.waiting_on ->> 'version' = one.waiting_on ->> 'version'
"""


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


@pytest.mark.slow
@pytest.mark.parametrize("listed", [200, 3])
def test_how_many_threads_wait_for_the_same_choice(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, listed: int
) -> None:
    # The package has a function of the same name.
    queries = importlib.import_module("checkpoints.queries.code_questions")
    monkeypatch.setattr(queries, "AT_MOST", listed)
    dice, client = random.Random(listed), cast.client("operator")
    threads = parked(cast, 9)
    for _ in range(8):
        html = client.get(f"/threads/{threads[-1]}/code/").content.decode()
        n = one(ALIKE, (threads[-1],))
        plural = "thread waits" if n == 1 else "threads wait"
        assert f"{n} {plural} for this choice" in words(html)
        assert html.count('name="thread"') == min(n, listed)
        assert (f"the {listed} that have waited longest are listed" in words(html)) == (n > listed)
        need = "thread needs" if n == 1 else "threads need"
        board = words(client.get("/").content.decode())
        assert f"The code of coded changed: {n} {need} a choice." in board
        store.cancel(threads.pop(dice.randrange(len(threads) - 1)), actor="user:1")
    assert n == 2
