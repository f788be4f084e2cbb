"""The page of a long thread costs what one of a short thread does, and shows the same states."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.urls import reverse

from checkpoints import queries, store
from dashboard.documents.state_reads import read, read_step
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import drive, head_of, make_thread, one

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("F15")]
TEXT = "0123456789" * 50
ITEMS: dict[str, Callable[[int], Any]] = {
    "texts": lambda n: f"{n} {TEXT}",
    "objects": lambda n: {"id": f"R-{n}", "text": TEXT, "total": f"{n}.00"},
}


def long_thread(cast: Cast, steps: int, kind: str) -> UUID:
    """A thread of so many steps; each appends an item of 500 characters and counts it."""
    thread = make_thread(workspace=cast.workspace)
    driver = drive(thread)
    for n in range(steps):
        driver.step({"append": {"log": [ITEMS[kind](n)]}, "set": {"total": n}})
    return thread


def calls(cast: Cast, thread: UUID, tab: str) -> int:
    """The functions of Python that are called for the page."""
    client, address = cast.client("operator"), reverse("thread", args=[thread]) + tab
    assert client.get(address).status_code == 200  # what is made once
    count = 0

    def counted(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        client.get(address)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("kind", ITEMS)
def test_a_page_calls_as_many_functions_at_any_length(cast: Cast, kind: str) -> None:
    short, long = long_thread(cast, 100, kind), long_thread(cast, 1_000, kind)
    for tab in ("", "?tab=state", "?tab=anatomy"):
        assert calls(cast, long, tab) <= 1.5 * calls(cast, short, tab), tab


STEPS: list[dict[str, Any]] = [
    {"set": {"goal": "a", "large": "b" * 40_000}},
    {"append": {"log": [1, {"x": [2.0**60, 1.5, None]}]}, "merge": {"facts": {"k": {"is": 1}}}},
    {"append": {"log": [True]}, "set": {"large": {"deep": "c" * 40_000}}},
    {"merge": {"facts": {"k": {"is": 2}, "l": "d" * 40_000}}, "unset": ["goal"]},
    {"set": {"log": [], "goal": "e"}},
    {},
]


def test_the_page_shows_each_checkpoint_and_the_one_before_as_they_are(cast: Cast) -> None:
    thread = make_thread(workspace=cast.workspace)
    driver = drive(thread)
    for step in STEPS:
        driver.step(step)
    driver.step({"set": {"goal": "f"}})
    assert one("SELECT count(*) FROM gp_checkpoint WHERE delta ? 'put'") == 2, "large values"
    point = queries.checkpoint_by_number(thread, 3)
    fork = store.fork(thread, checkpoint=point.id, changes={"goal": "g"}, actor="user:1")
    drive(fork).step({"append": {"log": ["h"]}})
    n_checkpoints = 0
    for owner in (thread, fork):
        version = queries.agent_version(queries.checkpoint(owner, head_of(owner)).agent_version_id)
        for row in queries.lineage(owner):
            n_checkpoints += 1
            before, state = read_step(row, version)
            assert state == read(row.thread, row.id, version)
            if row.parent and row.parent_thread:
                assert before == read(row.parent_thread, row.parent, version)
            else:
                assert before.state == {}
    assert n_checkpoints > 12
