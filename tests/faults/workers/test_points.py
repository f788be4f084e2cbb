"""kill -9 of every slot at once, each at another place between two save points; nothing is redone.

One strike hits nine threads: a hundred steps at the 99th, one node after each kind of action, and
long activities in their middle. Calls are counted by lines in files, which outlive processes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

import pytest
from django.core.cache import caches
from django.template.loader import render_to_string

from checkpoints import queries, store
from dashboard.threads.page.past import thread_activities, thread_events
from dashboard.threads.page.thread import ThreadPage
from tests.faults import invariants
from tests.faults.bench import (
    AGENTS,
    LEASE,
    SHORT,
    SWEEP,
    Case,
    Field,
    Worker,
    ask,
    wait_until,
    workers,
)

pytestmark = pytest.mark.hazard
# A lease that was just renewed, the sweep after it, and room for a slow machine.
GOES_ON = LEASE + SWEEP + 60
# In the order in which the node does them.
ATOMS = ("value", "model", "query", "tooling", "sent")
SETTINGS = SHORT | {"GATEPOST_SLICE_SECONDS": "0.05"}


def worker_of(ground: Path, name: str, slots: int) -> Worker:
    return Worker(
        ground,
        name,
        slots=slots,
        queues="points",
        environment={"GATEPOST_AGENTS": "own_points"},
        settings=SETTINGS,
    )


@dataclass
class Struck:
    """The threads that were struck, by what they were doing."""

    field: Field
    worker: Worker
    hundred: Case
    sixty: Case
    atoms: dict[str, Case]
    each: Case
    tenth: Case


@pytest.fixture(scope="module")
def struck(
    ground: Path, workspace: UUID, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Struck]:
    shutil.copy(AGENTS / "own_points.py", ground)
    field = Field(tmp_path_factory.mktemp("points"), workspace)
    with workers(worker_of(ground, "points", 9)) as (worker,):
        made = Struck(
            field,
            worker,
            hundred=field.start("hundred", holds=("in-99",)),
            sixty=field.start("hundred", holds=("before-50",), upto=60),
            atoms={point: field.start("atoms", holds=(point,)) for point in ATOMS},
            each=field.start("fetching", holds=("after-60",)),
            tenth=field.start("fetching", holds=("after-65",), every=10, beside_a_loop=True),
        )
        made.hundred.wait_called("count", 99, seconds=90)
        made.sixty.wait_called("count", 49, seconds=90)
        wait_until(lambda: made.sixty.row().step == 49, what=made.sixty.summary)
        for point, case in made.atoms.items():
            case.wait_called("sent" if point == "sent" else "before", seconds=90)
            wait_until(lambda c=case, p=point: done(c) == upto(p), what=case.summary, seconds=90)
        made.each.wait_called("item", 60, seconds=90)
        made.tenth.wait_called("item", 65, seconds=90)
        wait_until(lambda: cursor_of(made.each) == 60, what=lambda: cursor_of(made.each))
        victims = {case.holder() for case in field.cases}
        assert victims <= set(worker.slots())
        assert len(victims) == len(field.cases) == 9
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        for case in field.cases:
            for path in case.folder.glob("*.hold"):
                path.unlink()
        for case in field.cases:
            case.wait_status("succeeded", seconds=GOES_ON)
        yield made
        for case in field.cases:
            invariants.check(case)


def done(case: Case) -> set[str]:
    """The tools of what is recorded as done after the first step."""
    return {a.tool for a in queries.activities(case.id) if a.state == "done" and a.step > 1}


def upto(point: str) -> set[str]:
    """What `act` has recorded when it stays at this place."""
    tools = {"value": {"now", "random", "uuid"}, "sent": {"points.send"}}
    places = ATOMS[: ATOMS.index(point) + 1]
    return set().union(*(tools.get(name, {name}) for name in places))


def cursor_of(case: Case) -> int:
    """Where the thread's long activity would go on."""
    (result,) = [a for a in queries.activities(case.id) if a.tool.startswith("fetch")]
    return int((result.cursor or {}).get("at", 0))


def lines(case: Case, name: str) -> Counter[str]:
    return Counter(case.calls(name))


@pytest.mark.requirement("A01")
def test_killed_at_step_99_of_100_it_goes_on_there(struck: Struck) -> None:
    case = struck.hundred
    counted = lines(case, "count")
    assert counted.pop("99") == 2  # it was in the middle of this one
    assert counted == {str(n): 1 for n in range(1, 101) if n != 99}
    assert "lease.taken_over" in case.kinds()
    steps = [e.data["step"] for e in case.events() if e.kind == "checkpoint.committed"]
    assert steps == list(range(1, 101))


@pytest.mark.requirement("B06")
def test_a_long_task_is_a_chain_of_short_sprints(struck: Struck) -> None:
    case = struck.sixty
    assert lines(case, "count") == {str(n): 1 for n in range(1, 61)}
    assert "lease.taken_over" in case.kinds()
    for long in (case, struck.hundred):
        reasons = [e.data["reason"] for e in long.events() if e.kind == "thread.handed_back"]
        assert len(reasons) >= 2
        assert set(reasons) == {"the time slice is over"}
        # A checkpoint after every step, whoever did it.
        kinds = [k for k in long.kinds() if k in ("checkpoint.committed", "activity.finished")]
        assert kinds == ["activity.finished", "checkpoint.committed"] * (len(kinds) // 2)


@pytest.mark.parametrize("point", ATOMS)
@pytest.mark.requirement("A15")
@pytest.mark.requirement("B03")
@pytest.mark.requirement("C10")
@pytest.mark.requirement("C20")
def test_killed_right_after_an_action_none_is_repeated(struck: Struck, point: str) -> None:
    case = struck.atoms[point]
    assert {n: len(case.calls(n)) for n in ("before", "query", "tooling", "sent", "noted")} == {
        "before": 1,
        "query": 1,
        "tooling": 1,
        "sent": 1,
        "noted": 1,
    }
    payload = lines(case, "model")
    assert payload["hello"] == 1
    assert set(payload.values()) == {1}
    assert len(payload) == 2
    assert "lease.taken_over" in case.kinds()
    # The node that was struck began again; the one before it did not.
    nodes = [e.data["nodes"] for e in case.events() if e.kind == "checkpoint.committed"]
    assert nodes == [["begin"], ["act"], ["end"]]
    assert all(a.attempts == 1 for a in queries.activities(case.id))
    row = case.row()
    assert (row.tokens, row.cost, row.crash_count) == (24, "0.004", 0)


@pytest.mark.parametrize("point", ATOMS)
def test_time_and_chance_are_those_of_the_first_attempt(struck: Struck, point: str) -> None:
    case = struck.atoms[point]
    values = {a.tool: a.result for a in queries.activities(case.id) if a.kind == "value"}
    _, chance, ident = case.state()["seen"][1].split()
    assert (float(chance), ident) == (values["random"], values["uuid"])
    assert case.kinds().count("value.recorded") == 3


@pytest.mark.parametrize("point", ATOMS)
@pytest.mark.requirement("A15")
def test_the_page_lists_save_points_between_checkpoints(struck: Struck, point: str) -> None:
    case = struck.atoms[point]
    page = ThreadPage(case.workspace, case.id)
    roles = frozenset({"operator"})
    points, last = "", ""
    while last is not None:
        part = thread_activities(replace(page, points_before=str(last)), roles)
        points += render_to_string("threads/detail.html#thread-activities", part)
        last = part["points_cursor"]
    for tool in ("model", "query", "tooling", "points.send", "now", "random", "uuid"):
        assert f"<code>{tool}</code>" in points, tool
    text = render_to_string("threads/detail.html#thread-events", thread_events(page, roles))
    order = [
        "Checkpoint 1 after begin",
        "model done in act",
        "query done in act",
        "tooling done in act",
        "points.send completed",
        "look done in act",
        "Checkpoint 2 after act",
    ]
    places = [text.index(sentence) for sentence in order]
    assert places == sorted(places, reverse=True), "the newest comes first"


@pytest.mark.requirement("B01")
@pytest.mark.requirement("B47")
def test_killed_at_60_percent_no_finished_item_is_fetched_again(struck: Struck) -> None:
    case = struck.each
    assert case.calls("call") == ["0", "60"]
    assert lines(case, "item") == {str(n): 1 for n in range(1, 101)}
    state = case.state()
    assert state["total"] == sum(n * n for n in range(1, 101))
    # Its files, too: those that were written before the strike are referred to and there.
    assert [f["name"] for f in state["files"]] == [f"part-{n}.txt" for n in (20, 40, 60, 80, 100)]
    stored = [e.data["name"] for e in case.events() if e.kind == "artifact.stored"]
    assert stored == [f["name"] for f in state["files"]]
    (row,) = queries.activities(case.id)
    assert (row.state, row.attempts, row.cursor) == ("done", 2, None)


@pytest.mark.requirement("B01")
def test_with_a_cursor_kept_each_ten_items_fewer_than_ten_are_fetched_again(
    struck: Struck,
) -> None:
    case = struck.tenth
    began, again = case.calls("call")
    # After ten items, or after a second where the machine is slow.
    assert (began, 60 <= int(again) <= 65) == ("0", True)
    fetched = lines(case, "item")
    assert fetched == {str(n): 2 if int(again) < n <= 65 else 1 for n in range(1, 101)}
    assert case.state()["total"] == sum(n * n for n in range(1, 101))


@pytest.mark.requirement("C18")
def test_histories_are_rebuilt_and_replayed_without_a_call(struck: Struck) -> None:
    long = struck.field.start("hundred", upto=30)
    within = struck.field.start("fetching", n=30)
    cases = [long, within, struck.hundred, struck.atoms["sent"]]
    for case in cases:
        case.wait_status("succeeded")
    before = {p: p.read_bytes() for case in cases for p in case.folder.glob("*.log")}
    assert len(before) >= 4 + 6
    for case in cases:
        # The code of these agents is not even installed in this process.
        rows = list(queries.checkpoints(case.id, limit=200).rows)
        states = [queries.state_at(case.id, row.id) for row in rows]
        assert states[0] == case.state()
        assert len({json.dumps(state, sort_keys=True) for state in states}) == len(rows)
    # And by the code: the whole course once more, from the first checkpoint on.
    ends = {case.id: case.state() for case in (long, within)}
    for case in (long, within):
        store.roll_back(
            case.id,
            checkpoint=queries.checkpoint_by_number(case.id, 0).id,
            undo=[],
            reason="Once more",
            actor="user:1",
            head=case.row().head,
            run_on=True,
        )
    for case in (long, within):
        wait_until(
            lambda c=case: (c.row().status, c.row().branch) == ("succeeded", 1), what=case.summary
        )
        assert case.state() == ends[case.id]
    assert {p: p.read_bytes() for case in cases for p in case.folder.glob("*.log")} == before
    again = [a for a in queries.activities(long.id) if a.branch == 1]
    assert len(again) == 30
    assert all(a.usage["reused_from"] for a in again)


@pytest.mark.requirement("A02")
@pytest.mark.requirement("C10")
def test_a_failure_at_step_4_of_5_repeats_nothing_before_it(struck: Struck) -> None:
    case = struck.field.start("five")
    row = case.wait_status("failed")
    assert (row.step, "on fire" in row.status_reason) == (3, True)
    (case.folder / "mended").touch()
    store.retry(case.id, actor="user:1")
    case.wait_status("succeeded")
    names = ("load", "clean", "model", "beforehand", "check", "last")
    assert [len(case.calls(name)) for name in names] == [1, 1, 1, 1, 2, 1]
    assert case.state()["text"] == "saw last, HEARD SUM 6"
    assert case.row().tokens == 12


@pytest.mark.requirement("A13")
def test_a_result_cache_is_no_record(struck: Struck, tmp_path: Path) -> None:
    field = struck.field
    query = {"shared": str(tmp_path), "question": "tea"}
    shared = Case(struck.each.id, tmp_path, field.workspace)
    first = field.start("sharing", **query)
    first.wait_status("succeeded")
    assert (len(shared.calls("price")), len(shared.calls("model"))) == (1, 1)

    # Another thread of the same question: not one call, and recorded like any.
    second = field.start("sharing", holds=("asked",), **query)
    second.wait_event("activity.finished")
    (message,) = [e for e in second.events() if e.kind == "activity.finished"]
    assert message.data["usage"]["from_cache"] is True
    # Emptied while the thread is in the middle, and its worker lost: the record answers.
    caches["results"].clear()
    os.kill(second.holder(), signal.SIGKILL)
    second.go("asked")
    second.wait_status("succeeded", seconds=GOES_ON)
    assert len(shared.calls("price")) == 1
    assert len(shared.calls("model")) == 2  # the cache was empty when this was asked
    assert second.state()["price"] == first.state()["price"] == 3

    # Now both are there again, the model's answer with what it saved.
    third = field.start("sharing", **query)
    third.wait_status("succeeded")
    assert (len(shared.calls("price")), len(shared.calls("model"))) == (2, 2)
    (text,) = [a for a in queries.activities(third.id) if a.kind == "model"]
    assert text.usage == text.usage | {"from_cache": True, "reused_tokens": 12}
    assert (third.row().tokens, third.row().cost) == (0, "0")

    # A hit alone moves no thread: what is cached touches no row.
    rows = "SELECT id, xmin::text FROM gp_thread ORDER BY id"
    still = ask(rows)
    caches["results"].set("anything", "at all", timeout=60)
    assert caches["results"].get("anything") == "at all"
    assert ask(rows) == still
    other = field.start("sharing", **(query | {"question": "coffee"}))
    other.wait_status("succeeded")
    assert shared.calls("price") == ["tea", "tea", "coffee"]


@pytest.mark.requirement("B06")
@pytest.mark.requirement("B47")
def test_a_worker_that_is_stopped_hands_a_long_activity_back_in_its_middle(
    struck: Struck, ground: Path
) -> None:
    case = struck.field.start("fetching", holds=("after-40",))
    case.wait_called("item", 40)
    struck.worker.stop()
    wait_until(
        lambda: "shutdown" in struck.worker.log.read_text(), what=struck.worker.log.read_text
    )
    case.go("after-40")
    wait_until(lambda: case.row().status == "queued", what=case.summary)
    with workers(worker_of(ground, "points-2", 1)):
        case.wait_status("succeeded")
    assert case.calls("call")[0] == "0"
    assert len(case.calls("call")) == 2
    assert lines(case, "item") == {str(n): 1 for n in range(1, 101)}
    kinds = case.kinds()
    assert "lease.taken_over" not in kinds
    assert case.row().crash_count == 0
