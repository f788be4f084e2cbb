"""A page of the outline of a state is that of the state itself; what is erased is in neither."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest

from checkpoints import store
from checkpoints.queries.states import materialized
from checkpoints.states import EventKind
from dashboard.documents import state_outlines
from dashboard.live.regions import render
from dashboard.threads.page.thread import TABS, ThreadPage
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import Driver, drive, head_of, make_thread
from tests.unit.dashboard.records.erasure.test_canaries import erase

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("F15")]
REGIONS = ("thread-state", "thread-artifacts", "thread-conversation")
ROLES = frozenset({"operator"})
FILE = {"$artifact": "a" * 64, "name": "a.csv", "media_type": "text/csv", "size": 3}


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    state_outlines._recent.clear()
    yield
    state_outlines._recent.clear()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """The checkpoints whose state is read as a whole meanwhile."""
    read: list[UUID] = []
    whole = materialized.materialise

    def materialise(thread: UUID, checkpoint: UUID, **more: Any) -> Any:
        read.append(checkpoint)
        return whole(thread, checkpoint, **more)

    monkeypatch.setattr(materialized, "materialise", materialise)
    return read


def item(kind: str, n: int) -> Any:
    """An item of a long list."""
    long = f"{n} is a text that is longer than what is kept of it, {'x' * 100}"
    return {
        "texts": long,
        "objects": {"id": f"R-{n}", "text": long, "total": n, "lines": [n]},
        "nameless": {"day": n % 7, "text": long},
        "messages": {"role": "user" if n % 2 else "assistant", "content": long},
        "files": {"n": n, "report": FILE | {"$artifact": f"{n:064}"}} if n == 300 else long,
        "lists": [n, {"deep": long}],
    }[kind]


KINDS = ("texts", "objects", "nameless", "messages", "files", "lists")


def long_thread(cast: Cast, kind: str, n_items: int = 900) -> Driver:
    """A thread with so many items in `log`, and a step after them."""
    driver = drive(make_thread(workspace=cast.workspace))
    driver.step({"append": {"log": [item(kind, n) for n in range(n_items)]}})
    driver.step({"append": {"log": [item(kind, n_items)]}, "set": {"total": 1}})
    return driver


def shown(cast: Cast, thread: UUID) -> dict[str, str]:
    """The regions of the page that show its state, on all tabs."""
    return {
        f"{name} {tab}": render(ThreadPage(cast.workspace, thread, tab=tab), name, ROLES)
        for name in REGIONS
        for tab in TABS
    }


def shown_whole(cast: Cast, thread: UUID) -> dict[str, str]:
    """The same, of states that are read as a whole."""
    outlines, whole = dict(state_outlines._recent), {}
    for name in REGIONS:
        for tab in TABS:
            state_outlines._recent.clear()
            whole[f"{name} {tab}"] = render(
                ThreadPage(cast.workspace, thread, tab=tab), name, ROLES
            )
    state_outlines._recent.clear()
    state_outlines._recent.update(outlines)
    return whole


STEPS: Mapping[str, dict[str, Any]] = {
    "set": {"set": {"goal": "another", "total": 2}},
    "nothing": {},
    "merged": {"merge": {"facts": {"a": {"is": 1}, "report": FILE}}},
    "merged again": {"merge": {"facts": {"a": {"is": 2}}}, "unset": ["total"]},
    "replaced": {"set": {"log": ["one"]}},
    "begun again": {"append": {"log": ["two", FILE]}},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_an_outline_is_that_of_the_state(
    cast: Cast, kind: str, reads: list[UUID]
) -> None:
    driver = long_thread(cast, kind)
    thread = driver.work.thread
    assert shown(cast, thread) == shown_whole(cast, thread)
    reads.clear()
    assert shown(cast, thread)
    assert not reads, "the second look reads no state"
    for n in range(5):
        driver.step({"append": {"log": [item(kind, 901 + n), item(kind, 951 + n)]}})
        reads.clear()
        now = shown(cast, thread)
        assert not reads, "a look after a step reads its delta"
        assert now == shown_whole(cast, thread), n
    driver.step({"append": {"log": [item(kind, n) for n in range(2_000, 2_600)]}})
    assert shown(cast, thread) == shown_whole(cast, thread)
    for name, step in STEPS.items():
        driver.step(step)
        assert shown(cast, thread) == shown_whole(cast, thread), name


def test_many_steps_between_two_looks(cast: Cast, reads: list[UUID]) -> None:
    driver = long_thread(cast, "texts")
    thread = driver.work.thread
    shown(cast, thread)
    for n_steps, whole in ((20, False), (state_outlines.STEPS + 1, True)):
        for n in range(n_steps):
            driver.step({"append": {"log": [item("texts", n)]}})
        reads.clear()
        now = shown(cast, thread)
        assert bool(reads) is whole
        assert now == shown_whole(cast, thread)


def test_another_branch_is_read_as_a_whole(cast: Cast) -> None:
    driver = long_thread(cast, "texts")
    thread, before = driver.work.thread, driver.work.head
    driver.step({"append": {"log": ["left behind"]}}, leave_by=EventKind.THREAD_PAUSED)
    assert "left behind" in shown(cast, thread)["thread-state changes"]
    store.roll_back(
        thread, checkpoint=before, undo=(), reason="", actor="user:1", head=head_of(thread)
    )
    drive(thread).finish_rollback(run_on=True)
    drive(thread).step({"set": {"goal": "x"}})
    assert shown(cast, thread) == shown_whole(cast, thread)
    assert "left behind" not in str(shown(cast, thread))


def test_nothing_is_shown_of_an_erased_thread_nor_of_a_fork_of_it(
    cast: Cast, django_capture_on_commit_callbacks: Any
) -> None:
    driver = long_thread(cast, "texts")
    thread = driver.work.thread
    fork = store.fork(thread, checkpoint=driver.work.head, changes={"goal": "g"}, actor="user:1")
    own = drive(fork)
    for n in range(3):
        own.step({"append": {"log": [f"of the fork {n}"]}})
    for one, text in ((thread, "900 is a text"), (fork, "of the fork 2")):
        for _ in range(2):
            assert text in shown(cast, one)["thread-state changes"]
        assert thread in state_outlines._recent[one].threads
        store.cancel(one, actor="user:1", reason="")
    erase(cast, thread, django_capture_on_commit_callbacks)
    for one in (thread, fork):
        now = shown(cast, one)
        assert "is a text" not in str(now)
        assert "of the fork" not in str(now)
        assert "This state cannot be shown" in now["thread-state changes"]


def test_outlines_are_bounded(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_outlines, "TOTAL_MAX", 200_000)
    for _ in range(6):
        shown(cast, long_thread(cast, "texts").work.thread)
        outlines = state_outlines._recent.values()
        assert 0 < sum(one.weight for one in outlines) <= 200_000
    assert len(outlines) < 6
    heavy = drive(make_thread(workspace=cast.workspace))
    heavy.step({"set": {"goal": "y" * 2_000_000}})
    heavy.step({"append": {"log": ["z"]}})
    shown(cast, heavy.work.thread)
    assert heavy.work.thread not in state_outlines._recent
