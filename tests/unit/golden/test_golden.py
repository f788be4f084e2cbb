"""Threads that older code left behind go on with today's: golden histories, replayed each time.

Each history was written by the code of its version of `market-research` (see make.py) and is never
written again. Here it is put into a database as it is, verified, and worked on by the code of now.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from approvals.gates.verdict.tallies import tally_all
from approvals.verification.proof import verify
from checkpoints import queries
from checkpoints.states import EventKind, Status
from dashboard.errors import Invalid
from dashboard.identity.permissions import Actor
from dashboard.kit.shapes.requests import Nothing
from dashboard.threads.edit import edit
from dashboard.threads.retry import RETRY
from gatepost_agents.market_research import agent as module
from gatepost_agents.published import report_tool
from tests.unit.checkpoints.builders import one
from tests.unit.workers.conftest import Bench
from workers.code.registry import load as load_agents
from workers.step.step import Agent

from . import make, rows
from .rows import History, histories

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("B39")]

CODE = module.graph.schema_version
NODES = ["load", "clean", "analyse", "draw", "draft", "publish"]
# What each node calls; a replay counts them.
CALLS = {
    "load": (module, "load_table"),
    "clean": (module, "clean_table"),
    "analyse": (module, "analyse_table"),
    "draw": (module, "draw_chart"),
    "draft": (module, "write_report"),
    "publish": (report_tool, "publish"),
}


def of_story(story: str) -> Any:
    """The test gets the history of this story in each version."""
    chosen = [h for h in histories() if h.story == story]
    return pytest.mark.parametrize("history", chosen, ids=str)


@pytest.fixture
def published(tmp_path: Path, settings: Any) -> Path:
    """A published folder of this test's own."""
    settings.GATEPOST_PUBLISHED = tmp_path / "published"
    return tmp_path / "published"


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each node's work is really done."""
    counter: Counter[str] = Counter()

    def counting(node: str, call: Any) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            counter[node] += 1
            return call(*args, **kwargs)

        return counted

    for node, (where, name) in CALLS.items():
        monkeypatch.setattr(where, name, counting(node, getattr(where, name)))
    return counter


def loaded(history: History) -> tuple[Bench, UUID]:
    """The history in this database, beside the code of now."""
    thread = rows.load(history)
    tally_all()  # as the migration does for the rows that it finds
    agent = load_agents([make.AGENT])["market-research"]
    row = one("SELECT to_jsonb(t)::text FROM gp_thread t WHERE id = %s::uuid", [thread])
    told = json.loads(row)
    if history.version == CODE:
        # As if not a byte of the agent had changed since.
        version = queries.agent_version(UUID(told["agent_version_id"]))
        agent = Agent(agent.graph, agent.tools, version.id, version.fingerprint)
    return Bench(agent, UUID(told["workspace_id"])), thread


def upgraded(bench: Bench, thread: UUID) -> list[tuple[int, int]]:
    """(schema, step) of each checkpoint that an upgrade wrote in this thread, oldest first."""
    upgrades = [c for c in bench.checkpoints(thread) if c.source == "upgrade"]
    return sorted((c.schema_version, c.step) for c in upgrades)


def called_again(history: History, number: int) -> dict[str, int]:
    """What is called behind a checkpoint: the same code reuses its results, other code does not."""
    return {} if history.version == CODE else dict.fromkeys(NODES[number:-1], 1)


def operator(bench: Bench) -> Actor:
    return Actor(1, "operator", bench.workspace, "golden", frozenset({"operator"}))


def intact(*threads: UUID) -> bool:
    return all(verify(thread).intact for thread in threads)


def test_no_history_was_written_again() -> None:
    expected = json.loads(rows.MADE.read_text())
    hashes = {
        str(path.relative_to(rows.FOLDER)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in rows.written()
    }
    assert hashes == expected, "what is golden stays as it was written"


def test_every_version_has_every_story() -> None:
    stories = {(h.version, h.story) for h in histories()}
    assert stories == {(v, s) for v in range(1, CODE + 1) for s in make.STORIES}


@pytest.mark.slow
@pytest.mark.parametrize("history", histories(), ids=str)
def test_a_history_is_whole_and_proves_itself(history: History, published: Path) -> None:
    _, thread = loaded(history)
    report = verify(thread)
    assert report.intact, report.what


@pytest.mark.parametrize("history", histories(), ids=str)
def test_a_history_is_loaded_as_it_was_written(history: History, published: Path) -> None:
    thread = rows.load(history)
    then, now = json.loads(history.text()), json.loads(rows.text_of(thread))
    assert now["published"] == then["published"]
    for table, written in then["tables"].items():
        columns = {column for row in written for column in row}
        # A table may have got columns since; what there was is what there is.
        loaded_rows = [
            {c: v for c, v in row.items() if c in columns} for row in now["tables"][table]
        ]
        by_content = partial(json.dumps, sort_keys=True)
        assert sorted(loaded_rows, key=by_content) == sorted(written, key=by_content), table


@pytest.mark.requirement("A22")
@of_story("finished")
def test_thoughts_tool_outputs_and_decisions_are_events_of_their_own(
    history: History, published: Path
) -> None:
    _, thread = loaded(history)
    events = queries.events_after(thread, 0, limit=1_000)
    of_kind = {kind: [e.data for e in events if e.kind == kind] for kind in EventKind}
    assert len(of_kind[EventKind.THOUGHT_RECORDED]) >= 5
    assert all(len(thought["text"]) > 20 for thought in of_kind[EventKind.THOUGHT_RECORDED])
    outputs = {e["tool"] for e in of_kind[EventKind.ACTIVITY_FINISHED]}
    assert {"read_table", "clean_rows", "analyse_rows", "draw_picture", "draft_report"} <= outputs
    assert [e["tool"] for e in of_kind[EventKind.EFFECT_FINISHED]] == ["report.publish"]
    (decided,) = of_kind[EventKind.APPROVAL_DECIDED]
    assert decided["verdict"] == "approve"
    committed = of_kind[EventKind.CHECKPOINT_COMMITTED]
    assert [e["number"] for e in committed] == list(range(1, len(committed) + 1))


def test_what_is_written_is_not_written_over(published: Path) -> None:
    history = histories()[0]
    with pytest.raises(FileExistsError):
        rows.dump(rows.load(history), history)


@of_story("at-the-gate")
def test_what_was_asked_then_is_approved_now_and_done_once(
    history: History, published: Path, called: Counter[str]
) -> None:
    bench, thread = loaded(history)
    asked = bench.open(thread)
    bench.decide(thread, "approve", "Fine.")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert called == {"publish": 1}, "nothing of the steps before is called again"
    (approval,) = bench.approvals(thread)
    assert (approval.id, approval.proposal_hash) == (asked.id, asked.proposal_hash)
    assert upgraded(bench, thread) == ([(CODE, 5)] if history.version < CODE else [])
    state = bench.state(thread)
    assert set(state) == set(module.Research.model_fields)
    assert state["ignore"] == ["weight"]
    assert state["totals"] == {"rows": 60, "kept": 60, "dropped": 0}
    assert told(published) == {
        "chart.png": state["chart"]["png"]["$artifact"],
        "chart.svg": state["chart"]["svg"]["$artifact"],
        "report.html": state["report"]["html"]["$artifact"],
        "report.md": state["report"]["markdown"]["$artifact"],
    }
    assert intact(thread)


def reports(published: Path) -> list[Path]:
    """Folders of reports; those of former versions have no folder of their workspace around."""
    return sorted({manifest.parent for manifest in published.rglob("manifest.json")})


def told(published: Path) -> dict[str, str]:
    """{name: sha256} of what stands in the one folder that was published, without its manifest."""
    (folder,) = reports(published)
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != "manifest.json"
    }


@pytest.mark.slow
@of_story("failed")
def test_what_failed_then_fails_again_and_is_mended_as_todays_code_says(
    history: History, published: Path, called: Counter[str]
) -> None:
    bench, thread = loaded(history)
    bench.retry(thread)
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert "name it in `ignore`" in row.status_reason
    bench.edit(thread, {"ignore": ["weight", "price"]}, "Prices come from another list.")
    bench.retry(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert called == {"clean": 2, "analyse": 1, "draw": 1, "draft": 1}, (
        "the table is not read again"
    )
    assert bench.state(thread)["analysis"]["measure"]["name"] == "pieces"
    assert upgraded(bench, thread) == ([(CODE, 1)] if history.version < CODE else [])
    bench.decide(thread, "approve", "Fine.")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(told(published)) == 4
    assert intact(thread)


@pytest.mark.slow
@of_story("failed")
def test_what_failed_then_is_mended_in_its_own_form_before_a_worker_looks(
    history: History, published: Path, called: Counter[str]
) -> None:
    bench, thread = loaded(history)
    channel = "ignore_columns" if history.version == 1 else "ignore"
    person = operator(bench)
    if history.version == 1:
        with pytest.raises(Invalid, match="no such channel"):
            edit(person, thread, {"ignore": ["price"]}, "The form is the old one still.")
    edit(person, thread, {channel: ["price"]}, "Prices come from another list.")
    RETRY.run(person, Nothing(), thread)
    assert bench.advance(thread).status is Status.WAITING
    assert called == dict.fromkeys(["clean", "analyse", "draw", "draft"], 1)
    assert bench.state(thread)["ignore"] == ["price"]
    assert intact(thread)


@pytest.mark.slow
@of_story("finished")
@pytest.mark.parametrize("number", range(6))
def test_what_is_finished_is_forked_from_each_checkpoint(
    history: History, number: int, published: Path, called: Counter[str]
) -> None:
    bench, thread = loaded(history)
    before = bench.events(thread)
    fork = bench.fork(thread, number, {})
    assert bench.advance(fork).status is Status.WAITING
    assert called == called_again(history, number)
    assert upgraded(bench, fork) == ([(CODE, number)] if history.version < CODE else [])
    bench.decide(fork, "approve", "Fine.")
    assert bench.advance(fork).status is Status.SUCCEEDED
    assert called["publish"] == 1
    assert len(reports(published)) == 2, "what the base published stays"
    assert bench.events(thread) == before
    assert intact(thread, fork)


@pytest.mark.slow
@of_story("finished")
@pytest.mark.parametrize("number", range(6))
def test_what_is_finished_is_rolled_back_to_each_checkpoint(
    history: History, number: int, published: Path, called: Counter[str]
) -> None:
    bench, thread = loaded(history)
    assert len(told(published)) == 4
    assert bench.roll_back(thread, number).status is Status.PAUSED
    assert reports(published) == [], "what it published was taken back by today's code"
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert called == called_again(history, number)
    assert upgraded(bench, thread) == ([(CODE, number)] if history.version < CODE else [])
    bench.decide(thread, "approve", "Fine.")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(told(published)) == 4
    assert intact(thread)


@pytest.mark.slow
@of_story("at-the-gate")
def test_a_state_of_before_the_upgrade_is_edited_in_its_own_form(
    history: History, published: Path, called: Counter[str]
) -> None:
    bench, thread = loaded(history)
    bench.decide(thread, "approve", "Fine.")
    bench.advance(thread)
    bench.roll_back(thread, 1)
    channel = "ignore_columns" if history.version == 1 else "ignore"
    for columns in (["day"], ["pieces"]):
        edit(operator(bench), thread, {channel: columns}, "Try another one.")
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.state(thread)["ignore"] == ["pieces"]
    assert intact(thread)


@of_story("finished")
def test_a_fork_of_the_end_has_nothing_left_to_do(history: History, published: Path) -> None:
    bench, thread = loaded(history)
    fork = bench.fork(thread, 6, {})
    row = bench.advance(fork)
    assert (row.status, row.status_reason) == (Status.SUCCEEDED, "")
