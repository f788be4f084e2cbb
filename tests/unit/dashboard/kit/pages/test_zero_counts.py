"""No sentence of a page counts zero things; counters and tables may."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from checkpoints import store
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard import populations
from tests.unit.dashboard.kit.pages.test_addresses import patterns
from tests.unit.dashboard.page_numbers import numbers

pytestmark = [pytest.mark.django_db, pytest.mark.nightly]
# "0 checkpoints", but neither "0 s" nor "0 of 2" nor the test's own "user 0".
ZERO = re.compile(r"(?<!user )(?<![\w.,:#/-])0 (?!(?:of|s|ms|min|h|B)\b)[a-z]{2,}")


def _plain() -> Iterator[str]:
    """Every address without parameters."""
    for address, _ in patterns():
        if "<" not in address:
            yield f"/{address}"


def _with_ids() -> Iterator[str]:
    """The pages of some threads of each status, and of requests."""
    threads = rows(
        "SELECT id, head FROM (SELECT *, row_number() OVER (PARTITION BY status ORDER BY id) AS n "
        "FROM gp_thread) t WHERE n < 3"
    )
    for thread, head in threads:
        base = f"/threads/{thread}/"
        first = one("SELECT id FROM gp_checkpoint WHERE thread_id = %s AND number = 0", (thread,))
        yield from (base, f"{base}?tab=state", f"{base}cancel/", f"{base}code/", f"{base}edit/")
        yield from (f"{base}fork/?checkpoint={id}" for id in (first, head))
        yield f"{base}rollback/?checkpoint={first}"
    for (request,) in rows("SELECT id FROM gp_approval ORDER BY id LIMIT 6"):
        yield f"/approvals/{request}/"


def _zeros(cast: Cast, addresses: Iterator[str]) -> tuple[int, list[str]]:
    """(pages read, "address: words" of each sentence that counts zero things)."""
    n, zeros = 0, []
    for address in addresses:
        for name in (
            ("manager", "operator") if address.startswith("/approvals") else ("operator", "admin")
        ):
            answer = cast.client(name).get(address)
            if answer.status_code == 200:
                break
        html = answer.content.decode() if answer.status_code == 200 and not answer.streaming else ""
        if "<main " in html:
            n += 1
            texts = (text for _, text in numbers(html))
            zeros += [f"{address}: {text}" for text in texts if ZERO.search(text)]
    return n, zeros


def test_no_page_of_an_empty_workspace_counts_zero_things(cast: Cast) -> None:
    store.note_complete(cast.workspace, 0)
    n, zeros = _zeros(cast, _plain())
    assert not zeros, "\n".join(zeros)
    assert n > 30


def test_no_page_of_a_full_workspace_counts_zero_things(cast: Cast) -> None:
    populations.populate(cast, random.Random(6))
    populations.requested(cast, random.Random(6))
    n, zeros = _zeros(cast, _with_ids())
    assert not zeros, "\n".join(zeros)
    assert n > 60
