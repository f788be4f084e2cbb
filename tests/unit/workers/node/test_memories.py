"""`ctx.remember`, `ctx.recall`, `ctx.forget`: once, from the record, and never copied into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from checkpoints import queries, store
from checkpoints.memories import NewMemory
from checkpoints.queries import MemorySelection
from checkpoints.states import Status
from gatepost import Harness
from tests.unit.checkpoints.builders import expire, one, rows
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import remembering

pytestmark = [pytest.mark.requirement("A10"), pytest.mark.requirement("C37")]
TEXT = "The quokka invoice is due on Friday."


@pytest.fixture
def bench(make_bench: Callable[[Any], Bench], settings: Any) -> Bench:
    settings.GATEPOST_LEASE_SECONDS = 0.001  # PostgreSQL has been up for one lease
    remembering.calls.clear()
    return make_bench(remembering)


def memories_now(bench: Bench, **selection: Any) -> list[Any]:
    return queries.memories(MemorySelection(state="kept", **selection), workspace=bench.workspace)


def written(bench: Bench, text: str, **more: Any) -> UUID:
    """A memory that a person wrote for all."""
    new = NewMemory("workspace", "", "fact", text, source="person", **more)
    return store.remember(bench.workspace, new, actor="user:1").id


def call_of(bench: Bench, thread: UUID, tool: str) -> Any:
    (call,) = [a for a in bench.activities(thread) if a.tool == tool]
    return call


class Killed(BaseException):
    """Ends a worker where it stands."""


def die_before(bench: Bench, thread: UUID, tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a worker go so far that the record of this call would be written next; then it is lost.

    Its lease is over afterwards.
    """
    real = store.record_activity

    def die(work: Any, activity: Any, **more: Any) -> None:
        if activity.tool == tool:
            raise Killed
        real(work, activity, **more)

    with monkeypatch.context() as patched:
        patched.setattr(store, "record_activity", die)
        with pytest.raises(Killed):
            bench.advance(thread)
    expire(thread)


def test_what_is_remembered_is_recalled_by_another_thread_of_the_agent(bench: Bench) -> None:
    first = bench.start(text=TEXT, scope="agent")
    assert bench.advance(first).status is Status.SUCCEEDED, bench.row(first).status_reason
    (row,) = memories_now(bench)
    assert (row.text, row.owner, row.author) == (TEXT, "remembering", "agent:remembering")
    assert (row.thread, row.node, row.step, row.metadata) == (first, "learn", 1, {"of": "a test"})
    second = bench.start(question="When is the quokka invoice due?")
    bench.advance(second)
    assert bench.state(second)["answers"] == [TEXT]
    assert bench.intact(first)
    assert bench.intact(second)


def test_a_thread_keeps_its_own_to_itself(bench: Bench) -> None:
    bench.advance(bench.start(text=TEXT))
    other = bench.start(question="quokka")
    bench.advance(other)
    assert bench.state(other)["answers"] == []


@pytest.mark.requirement("B27")
def test_neither_state_nor_record_has_the_text(bench: Bench) -> None:
    """Searched raw: every table that belongs to the thread."""
    thread = bench.start(text=TEXT, question="quokka")
    bench.advance(thread)
    (row,) = memories_now(bench)
    assert bench.state(thread)["ref"] == {"$memory": str(row.id), "revision": 1}
    assert call_of(bench, thread, "memory.recall").result == [row.ref]
    for table in ("gp_activity", "gp_event", "gp_keyframe"):
        where = "thread_id = %s AND t::text LIKE %s AND t::text NOT LIKE '%%answers%%'"
        hits = rows(f"SELECT t::text FROM {table} t WHERE {where}", (thread, "%quokka invoice%"))
        assert [hit for (hit,) in hits if "thread.started" not in hit] == []


@pytest.mark.requirement("B27")
def test_a_checkpoint_does_not_grow_with_the_memory(bench: Bench) -> None:
    sizes = []
    for text in ("A fact.", "A fact. " * 10_000):
        thread = bench.start(scope="agent")
        bench.advance(thread)
        ref = store.remember(
            bench.workspace,
            NewMemory("agent", "remembering", "fact", text),
            actor="agent:remembering",
        ).ref
        bench_state = {**bench.state(thread), "ref": ref}
        again = bench.start(ref=ref, question="")
        bench.advance(again)
        assert bench_state["ref"] == bench.state(again)["ref"]
        sizes.append(
            one(
                "SELECT sum(pg_column_size(delta)) FROM gp_checkpoint WHERE thread_id = %s "
                "AND number < 2",
                (again,),
            )
        )
        rows("UPDATE gp_memory SET gone_at = now() WHERE workspace_id = %s", (bench.workspace,))
    assert sizes[0] == sizes[1]


def test_killed_between_the_memory_and_its_record_it_is_there_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = bench.start(text=TEXT)
    die_before(bench, thread, "memory.remember", monkeypatch)
    (row,) = memories_now(bench)
    assert [a.tool for a in bench.activities(thread)] == [], "nothing is on record yet"
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [again.id for again in memories_now(bench)] == [row.id]
    assert bench.state(thread)["ref"]["$memory"] == str(row.id)


@pytest.mark.requirement("A10")
def test_a_resume_is_answered_from_the_record_and_says_what_is_gone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between recall and commit: the same memories again, one of them gone meanwhile."""
    first, second = (
        written(bench, "The quokka is small."),
        written(bench, "A quokka lives on an island."),
    )
    thread = bench.start(question="quokka")
    die_before(bench, thread, "look", monkeypatch)
    written(bench, "Quokka, quokka, quokka: the best answer of all.")
    store.forget_memories([first], workspace=bench.workspace, reason="It is wrong.", actor="user:1")
    assert bench.advance(thread).status is Status.SUCCEEDED, bench.row(thread).status_reason
    state = bench.state(thread)
    assert sorted(state["answers"]) == ["", "A quokka lives on an island."]
    assert sorted(state["gone"]) == ["", "It is wrong."]
    recalled = {ref["$memory"] for ref in call_of(bench, thread, "memory.recall").result}
    assert recalled == {str(first), str(second)}


def test_a_resume_reads_nothing_of_one_that_has_expired(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text is still there: until a worker deletes it, and as long as a legal hold is set."""
    ident = written(bench, "The quokka is small.")
    thread = bench.start(question="quokka")
    die_before(bench, thread, "look", monkeypatch)
    rows("UPDATE gp_memory SET expires_at = clock_timestamp() WHERE id = %s", (ident,))
    assert bench.advance(thread).status is Status.SUCCEEDED, bench.row(thread).status_reason
    state = bench.state(thread)
    assert (state["answers"], state["gone"]) == ([""], ["It expired."])
    assert one("SELECT text FROM gp_memory WHERE id = %s", (ident,)) == "The quokka is small."


def test_a_resume_reads_the_text_that_it_was_told_before_a_correction(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ident = written(bench, "The quokka weighs 3 kg.")
    thread = bench.start(question="quokka")
    die_before(bench, thread, "look", monkeypatch)
    store.correct_memory(
        *(ident,),
        workspace=bench.workspace,
        text="The quokka weighs 4 kg.",
        reason="Weighed.",
        actor="user:1",
    )
    bench.advance(thread)
    assert bench.state(thread)["answers"] == ["The quokka weighs 3 kg."]


def test_a_counterfactual_changes_what_was_recalled(bench: Bench) -> None:
    written(bench, "The quokka is small.")
    thread = bench.start(question="quokka")
    bench.advance(thread)
    call = call_of(bench, thread, "memory.recall")
    point = bench.checkpoint(thread, call.step - 1)
    for output, answers in (
        ([], []),
        ([{"text": "The quokka is huge."}], ["The quokka is huge."]),
    ):
        fork = store.fork_with_output(call, output=output, checkpoint=point.id, actor="user:2")
        assert bench.advance(fork).status is Status.SUCCEEDED
        assert bench.state(fork)["answers"] == answers


def test_a_fork_reads_what_its_base_remembered_before_it(bench: Bench) -> None:
    thread = bench.start(text=TEXT, question="quokka")
    bench.advance(thread)
    fork = bench.fork(thread, 1, {"text": ""})
    late = NewMemory("thread", str(thread), "fact", "A late word about the quokka.")
    store.remember(bench.workspace, late, actor="user:1")
    bench.advance(fork)
    assert bench.state(fork)["answers"] == [TEXT]


def test_what_came_from_outside_is_marked(bench: Bench) -> None:
    thread = bench.start(text=TEXT, question="quokka", outside=True)
    bench.advance(thread)
    assert bench.state(thread)["answers"] == [f"{TEXT} (outside)"]


def test_an_agent_forgets_its_own_and_nothing_else(bench: Bench) -> None:
    thread = bench.start(text=TEXT, forgets=True)
    bench.advance(thread)
    assert memories_now(bench) == []
    assert bench.state(thread)["gone"] == ["The task is over."]
    ident = written(bench, "A person wrote this.")
    ref = queries.memory(ident, workspace=bench.workspace).ref
    other = bench.start(ref=ref, forgets=True)
    assert bench.advance(other).status is Status.FAILED
    assert "forgets only what it remembered itself" in bench.row(other).status_reason
    assert len(memories_now(bench)) == 1


def test_an_encrypted_channel_never_reaches_memory(bench: Bench) -> None:
    thread = bench.start(hidden="The password of the safe")
    assert bench.advance(thread).status is Status.FAILED
    assert "encrypted channel" in bench.row(thread).status_reason
    assert "password" not in bench.row(thread).status_reason
    assert memories_now(bench) == []


@pytest.mark.parametrize(
    ("input", "why"),
    [
        ({"text": TEXT, "scope": "everybody"}, "$.scope: must be one of"),
        ({"question": "q" * 1_001}, "at most 1,000 characters"),
    ],
)
def test_what_cannot_be_done_fails_the_step_with_the_reason(
    bench: Bench, input: dict[str, Any], why: str
) -> None:
    thread = bench.start(**input)
    assert bench.advance(thread).status is Status.FAILED
    assert why in bench.row(thread).status_reason


# ---- policies ------------------------------------------------------------------------------------

FOR_ALL = "tool == 'memory.remember' && args.scope == 'workspace'"


def test_a_policy_holds_what_would_be_in_everybodys_memory(bench: Bench) -> None:
    policies.make(bench.workspace, Draft("For all", FOR_ALL), actor="user:9")
    assert bench.advance(bench.start(text=TEXT)).status is Status.SUCCEEDED, "its own is free"
    thread = bench.start(text="Pay the quokka.", scope="workspace")
    assert bench.advance(thread).status is Status.WAITING
    request = bench.open(thread)
    assert (request.tool, request.args["text"]) == ("memory.remember", "Pay the quokka.")
    assert memories_now(bench, scope="workspace") == []
    bench.decide(thread, "edit", args={**request.args, "text": "Ask before you pay the quokka."})
    assert bench.advance(thread).status is Status.SUCCEEDED, bench.row(thread).status_reason
    assert [row.text for row in memories_now(bench, scope="workspace")] == [
        "Ask before you pay the quokka."
    ]


def test_what_people_refuse_is_not_remembered(bench: Bench) -> None:
    policies.make(bench.workspace, Draft("For all", FOR_ALL), actor="user:9")
    thread = bench.start(text=TEXT, scope="workspace")
    bench.advance(thread)
    bench.decide(thread, "reject", "No.")
    bench.advance(thread)
    assert memories_now(bench) == []


# ---- the test bench ------------------------------------------------------------------------------


def test_a_play_has_a_memory_of_its_own(db: None) -> None:
    bench = Harness(remembering.graph)
    played = bench.play({"text": TEXT, "scope": "agent", "question": "quokka"})
    assert played.state["answers"] == [TEXT]
    again = bench.play({"question": "quokka"})
    assert again.state["answers"] == [TEXT]
    assert Harness(remembering.graph).play({"question": "quokka"}).state["answers"] == []
