"""`agent impact`: every suspended thread against the code installed here, before it is deployed."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection

from checkpoints import leases, queries, store
from checkpoints.queries.tree.below import threads_below
from checkpoints.states import EventKind
from tests.support.cast import Cast
from workers.code import registry
from workers.engine.engine import Engine
from workers.step.ledger import DatabaseLedger
from workers.step.step import Agent

CODE = """
from typing import Annotated, Any

from workers.node.context import Context
from workers.authoring.graph import END, Append, Gate, Graph, State, Upgrades, tool

upgrades = Upgrades()


class Tale(State):
    {fields}


graph = Graph("{name}", Tale, {options})


@graph.node(then="{second}")
def begin(state: Tale, ctx: Context) -> dict[str, Any]:
    return {{}}


@graph.node(name="{second}", then=END)
def second(state: Tale, ctx: Context) -> dict[str, Any]:
    ctx.ask("Go on?")
    return {{}}

{more}
"""
UP = """
@upgrades.step(1)
def lead(state):
    return {**state, "words": len(state["goal"])}
"""
BROKEN = """
@upgrades.step(1)
def lead(state):
    return {**state, "words": state["no such channel"]}
"""
MISFIT = """
@upgrades.step(1)
def lead(state):
    return {**state, "words": "many"}
"""
ENDS = """
import sys


@upgrades.step(1)
def lead(state):
    print("so it goes")
    sys.exit(3)
"""
ONE = 'goal: str = "tea"'
TWO = f"{ONE}\n    words: int"
OLD = {"fields": ONE, "options": "version=1", "second": "second", "more": ""}
STEP_TWO = OLD | {"fields": TWO, "options": "schema_version=2, upgrades=upgrades"}


LEADS = """
from gatepost import END, Context, Graph, State


class Plan(State):
    goal: str = ""


graph = Graph("leads", Plan, {options})


@graph.node(then=END)
def begin(state: Plan, ctx: Context) -> dict:
    ctx.join([ctx.spawn("tales", {{}}), ctx.spawn("tales", {{}})])
    return {{}}
"""


@pytest.fixture
def author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Writes a module that holds the agent `name`; the module's name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def write(name: str, *, code: str = CODE, **values: Any) -> str:
        module = f"tale_{tmp_path.name.replace('-', '_')}_{len(made)}"
        made.append(module)
        (tmp_path / f"{module}.py").write_text(code.format(name=name, **OLD | values))
        return module

    yield write
    for module in made:
        sys.modules.pop(module, None)


def worked(workspace: UUID, agent: Agent, *, title: str = "") -> UUID:
    """A thread that stands before its second node, at the question of that node."""
    thread = store.start(
        agent.version_id, input={}, workspace=workspace, actor="user:1", title=title
    )
    advance(thread, agent)
    return thread


def advance(thread: UUID, agent: Agent) -> None:
    """Work on a queued thread until it stands."""
    work = leases.acquire(thread, owner="worker:1")
    assert work is not None
    heartbeat: Any = type("Heartbeat", (), {"check": staticmethod(lambda: None)})
    Engine(agent, DatabaseLedger(), heartbeat, lambda: False).advance(work)


def impact_of(*words: str) -> tuple[int, Any, str]:
    """(exit code, the JSON answer, notes)."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("agent", "impact", *words, "--json", stdout=out, stderr=err)
    except SystemExit as ended:
        return int(ended.code or 0), json.loads(out.getvalue()), err.getvalue()
    return 0, json.loads(out.getvalue()), err.getvalue()


def whole() -> list[Any]:
    """Every row of every table of ours."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'gp%%' "
            "AND relnamespace = current_schema()::regnamespace ORDER BY 1"
        )
        results = []
        for (table,) in cursor.fetchall():
            cursor.execute(
                f"SELECT count(*), md5(string_agg(x::text, '|' ORDER BY x::text)) FROM {table} x"
            )
            results.append((table, *cursor.fetchone()))
        return results


@pytest.mark.parametrize(
    ("new", "verdict", "why"),
    [
        (None, "goes_on", "The same code."),
        ({"options": "version=2"}, "stops", "rule is to stop"),
        ({"options": 'on_code_change="go_on"'}, "goes_on", "rule allows"),
        (STEP_TWO | {"more": UP}, "upgrades", "schema 1 to 2"),
        (STEP_TWO | {"more": BROKEN}, "stops", "KeyError: 'no such channel'"),
        (STEP_TWO | {"more": MISFIT}, "stops", "does not fit"),
        (STEP_TWO | {"more": ENDS}, "stops", "ended the process"),
        (STEP_TWO, "stops", "No upgrade from schema 1 to 2"),
        ({"second": "last"}, "stops", "no node named second"),
        (
            {"fields": "goal: int = 1", "options": 'on_code_change="go_on"'},
            "stops",
            "refuses its state",
        ),
    ],
    ids=[
        "same", "stop", "go_on", "upgrade", "broken", "misfit", "ends", "no way", "node", "unfit",
    ],
)  # fmt: skip
def test_each_verdict_and_nothing_is_written(
    cast: Cast, author: Any, new: dict[str, Any] | None, verdict: str, why: str
) -> None:
    module = author("tales")
    agent = registry.load([module])["tales"]
    thread = worked(cast.workspace, agent)
    installed = module if new is None else author("tales", **new)
    before = whole()
    code, answer, _ = impact_of(installed)
    assert whole() == before
    (result,) = answer["threads"]
    assert (result["thread"], result["verdict"], result["status"]) == (
        str(thread),
        verdict,
        "waiting",
    )
    assert why in result["why"]
    assert (code, answer["ok"]) == ((1, False) if verdict == "stops" else (0, True))
    assert answer["counts"][verdict] == sum(answer["counts"].values()) == 1
    (group,) = answer["groups"]
    assert (group["threads"], group["agent"], group["verdict"]) == (1, "tales", verdict)
    assert bool(result["do"]) is (verdict == "stops")


def test_what_the_report_says_is_what_happens(cast: Cast, author: Any) -> None:
    """The thread that would be upgraded is, the one that would stop does."""
    agent = registry.load([author("tales")])["tales"]
    for new, status in (
        (STEP_TWO | {"more": UP}, "waiting"),
        ({"options": "version=2"}, "attention"),
    ):
        thread = worked(cast.workspace, agent)
        module = author("tales", **new)
        code, _, _ = impact_of(module)
        assert code == (status == "attention")
        after = registry.load([module])["tales"]
        store.pause(thread, actor="user:1")
        store.resume(thread, actor="user:1")
        advance(thread, after)
        assert queries.thread(thread, workspace=cast.workspace).status == status


@pytest.mark.slow
def test_others_count_too(cast: Cast, author: Any) -> None:
    """Missing agents, pinned threads and those that need a person already; all workspaces."""
    tales = registry.load([author("tales")])["tales"]
    lost = registry.load([author("lost")])["lost"]
    gone = worked(cast.elsewhere, lost, title="Gone")
    pinned, current = worked(cast.workspace, tales), worked(cast.workspace, tales)
    for thread in (pinned, current):
        store.pause(thread, actor="user:1")
        store.resume(thread, actor="user:1")
        work = leases.acquire(thread, owner="worker:1")
        assert work is not None
        query = {"kind": "agent", "choices": ["pin"]}
        store.leave(work, EventKind.THREAD_PARKED, reason="No such code", waiting_on=query)
    store.pin(pinned, actor="user:1")
    module = author("tales", options="version=2")

    code, answer, _ = impact_of(module)  # of these modules' agents only: nothing of the lost one
    assert (code, answer["ok"]) == (0, True)
    verdicts = {row["thread"]: row["verdict"] for row in answer["threads"]}
    assert verdicts == {str(pinned): "pinned", str(current): "stands"}

    code, answer, _ = impact_of()  # all that a worker would take, which has neither
    assert code == 1
    verdicts = {row["thread"]: (row["verdict"], row["why"]) for row in answer["threads"]}
    assert verdicts[str(gone)] == ("stops", "No code for this agent is installed.")
    assert "After that: No code" in verdicts[str(current)][1]
    assert answer["modules"] == registry.agent_modules()

    code, answer, _ = impact_of("--only", "stops")
    assert (code, {row["verdict"] for row in answer["threads"]}) == (1, {"stops"})
    assert answer["counts"]["stands"] == 1


def test_a_family_is_judged_member_by_member(cast: Cast, author: Any) -> None:
    """A lead that waits for its children, each by the code of its own agent; then what happens."""
    tales_now, leads_now = author("tales"), author("leads", code=LEADS)
    tales, leads = registry.load([tales_now])["tales"], registry.load([leads_now])["leads"]
    lead = worked(cast.workspace, leads)
    children = threads_below(lead)
    advance(children[0], tales)  # it waits for a person; its sibling is still queued
    other = author("tales", options="version=2")
    for module, verdict in ((other, "stops"), (tales_now, "goes_on")):
        _, answer, _ = impact_of(leads_now, module)
        verdicts = {row["thread"]: row["verdict"] for row in answer["threads"]}
        assert verdicts == {str(lead): "goes_on"} | dict.fromkeys(map(str, children), verdict)
        groups = {
            (group["agent"], group["verdict"]): group["threads"] for group in answer["groups"]
        }
        assert groups == {("leads", "goes_on"): 1, ("tales", verdict): 2}
    code, answer, _ = impact_of(author("leads", code=LEADS, options="version=2"))
    assert (code, [row["thread"] for row in answer["threads"]]) == (1, [str(lead)])
    advance(children[1], registry.load([other])["tales"])
    assert queries.thread(children[1], workspace=cast.workspace).status == "attention"
    assert queries.thread(lead, workspace=cast.workspace).status == "waiting"


def test_many_threads_come_once_each_in_batches(
    cast: Cast, author: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["checkpoints.queries.installation.suspended"], "BATCH", 7)
    module = author("tales")
    agent = registry.load([module])["tales"]
    made = {
        str(store.start(agent.version_id, input={}, workspace=cast.workspace, actor="user:1"))
        for _ in range(40)
    }
    assert max(len(batch) for batch in queries.suspended(agents=["tales"])) == 7
    code, answer, notes = impact_of(module)
    assert code == 0
    assert sorted(row["thread"] for row in answer["threads"]) == sorted(made)
    assert answer["counts"]["goes_on"] == 40
    assert "40 goes on" in notes
    assert len(answer["groups"]) == 1


def test_what_cannot_be_imported_is_refused_with_its_line(
    cast: Cast, author: Any, tmp_path: Path
) -> None:
    module = author("tales", more="\nraise RuntimeError('not today')")
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("agent", "impact", module, stdout=out, stderr=err)
    assert ended.value.code == 1
    assert "not today" in err.getvalue()
    assert f"{module}.py" in err.getvalue()
    assert out.getvalue() == ""


def test_in_a_terminal_counts_come_first(cast: Cast, author: Any) -> None:
    module = author("tales")
    thread = worked(cast.workspace, registry.load([module])["tales"])
    out = io.StringIO()
    call_command("agent", "impact", module, stdout=out, stderr=io.StringIO())
    first, *rest = [line for line in out.getvalue().splitlines() if line]
    assert first.split("\t")[:3] == ["1", "tales", "goes_on"]
    assert rest[0].startswith(str(thread))
