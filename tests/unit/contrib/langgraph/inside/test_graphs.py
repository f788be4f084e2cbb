"""Compiled graphs on the real engine, with a ledger in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from approvals.policies.matches import Facts, Rule
from approvals.rules.terms import Terms
from checkpoints.errors import InvalidValue
from gatepost import Edit, GraphError, Harness, Reject, Respond
from gatepost.langgraph import from_langgraph
from workers.testing.play_ledger import PlayRules

from . import compiled_agents as agents


def steps(thread: Any) -> list[list[str]]:
    return [list(c.nodes) for c in thread.checkpoints if c.source == "step"]


def test_a_superstep_is_a_step_and_branches_meet_in_a_cycle() -> None:
    thread = Harness(agents.rounds).play({"rounds": 2})
    assert thread.status == "succeeded", thread
    assert steps(thread) == [["__start__"], *[["left", "right"], ["meet"]] * 2]
    assert thread.state["lines"] == ["left 0", "right 0", "left 1", "right 1"]
    assert thread.state["ratio"] == {"$type": "float", "value": "2.0"}
    assert thread.state_at(2)["lines"] == ["left 0", "right 0"]
    assert agents.rounds_graph().invoke({"rounds": 2})["lines"] == thread.state["lines"]


def test_a_list_that_grows_is_stored_once() -> None:
    thread = Harness(agents.rounds).play({"rounds": 3})
    added = [c.delta.get("append", {}).get("lines") for c in thread.checkpoints]
    rounds = [[f"left {n}", f"right {n}"] for n in range(3)]
    assert [list(lines) for lines in added if lines] == rounds
    assert not any("lines" in c.delta.get("set", {}) for c in thread.checkpoints[1:])


def test_sends_and_commands_lead_on() -> None:
    thread = Harness(agents.spread).play({"items": ["a", "b", "c"]})
    assert thread.status == "succeeded", thread
    assert steps(thread) == [["__start__"], ["look"], ["choose"], ["there"]]
    assert thread.state["names"] == ["A", "B", "C"]
    assert thread.state["went"] == "there and back"


def test_tool_calls_are_recorded_and_an_effect_waits_at_its_gate(tmp_path: Path) -> None:
    start = {"messages": [{"role": "user", "content": "It is broken."}], "folder": str(tmp_path)}
    thread = Harness(agents.shop).play(start)
    assert thread.status == "waiting", thread
    (request,) = thread.open
    assert request.title == "Refund the customer?"
    assert request.args == {"order": 1, "amount": "40.00"}
    assert sorted(a.tool for a in thread.activities if a.tool == "find_order") == ["find_order"] * 2
    thread.decide(Edit({"order": 1, "amount": "30.00"}))
    assert thread.status == "succeeded", thread
    assert (tmp_path / "1.refund").read_text() == "30.00"
    last = thread.state["messages"][-2]["value"]["data"]
    assert last["content"].startswith("refunded 30.00\n\n")
    assert "changed the arguments" in last["content"]
    assert len((tmp_path / "find-1.log").read_text().splitlines()) == 1
    (effect,) = thread.effects
    assert (tmp_path / "refund.log").read_text().split()[1] == effect.idempotency_key
    thread.roll_back(to=1)
    assert thread.effects[0].state == "compensated"


def test_a_refused_effect_is_an_answer_for_the_model(tmp_path: Path) -> None:
    start = {"messages": [{"role": "user", "content": "It is broken."}], "folder": str(tmp_path)}
    thread = Harness(agents.shop).play(start, decide=Reject("not ours"))
    assert thread.status == "succeeded", thread
    assert "not ours" in thread.state["messages"][-2]["value"]["data"]["content"]
    assert not (tmp_path / "1.refund").exists()


def test_a_policy_holds_a_tool_that_its_author_calls_no_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asks_of_call(ledger: Any, work: Any, tool: str, args: Any) -> bool:
        return tool == "find_order"

    def policy(facts: Facts) -> Rule | None:
        return Rule("ask", "p@1", "Orders", Terms()) if facts.tool == "find_order" else None

    monkeypatch.setattr(PlayRules, "asks_of_call", asks_of_call)
    start = {"messages": [{"role": "user", "content": "It is broken."}], "folder": str(tmp_path)}
    thread = Harness(agents.shop, policy=policy).play(start)
    assert thread.status == "waiting", thread
    assert {request.tool for request in thread.open} == {"find_order"}
    assert not list(tmp_path.glob("find-*.log"))
    thread = Harness(agents.shop, policy=policy).play(start, decide=Reject("no orders"))
    assert thread.status == "succeeded", thread
    assert not list(tmp_path.glob("find-*.log"))
    assert "no orders" in str(thread.state["messages"])


def test_a_policy_blocks_effects_and_plain_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlayRules, "asks_of_call", lambda ledger, work, tool, args: True)

    def policy(facts: Facts) -> Rule | None:
        return Rule("block", "p@1", "Never", Terms(rule="The policy “Never” blocks it."))

    start = {"messages": [{"role": "user", "content": "It is broken."}], "folder": str(tmp_path)}
    thread = Harness(agents.shop, policy=policy).play(start)
    assert thread.status == "succeeded", thread
    assert not thread.open
    assert {row.tool for row in thread.approvals} >= {"find_order"}
    assert all(row.blocked for row in thread.approvals)
    assert not list(tmp_path.glob("find-*.log"))
    assert not (tmp_path / "1.refund").exists()
    assert "The policy “Never” blocks it." in str(thread.state["messages"])


@pytest.mark.parametrize("n", range(1, 24))
def test_a_lost_worker_repeats_no_call(tmp_path: Path, n: int) -> None:
    start = {"messages": [{"role": "user", "content": "It is broken."}], "folder": str(tmp_path)}
    thread = Harness(agents.shop, stop_after=n).play(start, decide="approve")
    assert thread.status == "succeeded", thread
    lines = {p.stem: len(p.read_text().splitlines()) for p in tmp_path.glob("*.log")}
    keys = {line.split()[1] for line in (tmp_path / "refund.log").read_text().splitlines()}
    assert len(keys) == 1
    # What was lost is at most the call whose record was the lost write.
    assert sum(lines.values()) <= 7
    assert len(thread.state["messages"]) == 7


def test_a_branch_that_finished_is_not_run_again_when_its_worker_is_lost(tmp_path: Path) -> None:
    repeated = []
    for n in range(1, 9):
        folder = tmp_path / str(n)
        folder.mkdir()
        start = {"rounds": 1, "folder": str(folder)}
        thread = Harness(agents.rounds, stop_after=n).play(start)
        assert thread.state["lines"] == ["left 0", "right 0"]
        calls = [path.read_text().splitlines() for path in folder.glob("*.log")]
        repeated.append(sum(map(len, calls)) - 2)
    # Once the worker was lost between the ends of the two branches.
    assert 1 in repeated, repeated
    assert repeated[-1] == 0


def test_interrupts_of_branches_and_subgraphs_are_answered_by_id(tmp_path: Path) -> None:
    thread = Harness(agents.trip).play({"folder": str(tmp_path)})
    assert thread.status == "waiting", thread
    assert sorted(a.title for a in thread.open) == ["How much?", "Is Oslo right?"]
    thread.decide(Respond("yes"), "Is Oslo right?")
    assert sorted(a.title for a in thread.open) == ["How much?", "When?"]
    thread.decide(Respond(500), "How much?")
    thread.decide(Respond("May"), "When?")
    assert thread.status == "succeeded", thread
    assert thread.state["answers"] == ["500 euro", "yes May", "packed"]
    # The subgraph resumed after its first node.
    assert len((tmp_path / "draft.log").read_text().splitlines()) == 1


INBOX = [
    {
        "action_request": {"action": "send", "args": {"to": "Ada"}},
        "config": {"allow_accept": True, "allow_edit": True, "allow_ignore": True},
        "description": "Send it?",
    }
]
ACTIONS = {
    "action_requests": [
        {"name": "send", "args": {"to": "Ada"}, "description": "To Ada?"},
        {"name": "send", "args": {"to": "Bea"}, "description": "To Bea?"},
    ],
    "review_configs": [{"action_name": "send", "allowed_decisions": ["approve", "edit", "reject"]}],
}
TOOL = {"type": "tool_approval", "tool_call_id": "1", "name": "send", "args": {"to": "Ada"}}


@pytest.mark.parametrize(
    ("value", "decide", "answer"),
    [
        (INBOX, "approve", [{"type": "accept", "args": None}]),
        (
            INBOX,
            Edit({"to": "Eve"}),
            [{"type": "edit", "args": {"action": "send", "args": {"to": "Eve"}}}],
        ),
        (
            ACTIONS,
            {"To Ada?": "approve", "To Bea?": Reject("not her")},
            {"decisions": [{"type": "approve"}, {"type": "reject", "message": "not her"}]},
        ),
        (
            TOOL,
            Edit({"to": "Eve"}),
            {"type": "edit", "edited_action": {"name": "send", "args": {"to": "Eve"}}},
        ),
        ("Which?", Respond("this"), "this"),
        ({"question": "Which?", "of": ["a", "b"]}, Respond("a"), "a"),
    ],
)
def test_the_forms_of_interrupts(value: Any, decide: Any, answer: Any) -> None:
    thread = Harness(agents.question).play({"value": value}, decide=decide)
    assert thread.status == "succeeded", thread
    assert thread.state["answer"] == answer


def test_an_answer_fits_its_schema() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    thread = Harness(agents.question).play({"value": "How many?", "schema_of_answer": schema})
    (request,) = thread.open
    assert request.schema == schema
    thread.decide(Respond({"n": 3}))
    assert thread.state["answer"] == {"n": 3}


@pytest.mark.parametrize("value", [{"answer": "yes"}, {}, ["yes"], [], None])
def test_a_text_takes_no_object_or_list_as_its_answer(value: Any) -> None:
    thread = Harness(agents.question).play({"value": "Which?"})
    with pytest.raises(InvalidValue, match="is not of type 'string'"):
        thread.decide(Respond(value))
    assert thread.status == "waiting"
    assert thread.decide(Respond("yes")).state["answer"] == "yes"


@pytest.mark.parametrize("value", ["30", 30, 1.5, True, ""])
def test_a_text_takes_words_and_other_plain_values(value: Any) -> None:
    thread = Harness(agents.question).play({"value": "Which?"}, decide=Respond(value))
    assert thread.state["answer"] == value
    assert type(thread.state["answer"]) is type(value)


@pytest.mark.parametrize(
    ("decide", "result"),
    [("approve", "sent to Ada: Hi"), (Reject("too short"), "too short")],
)
def test_the_middleware_of_langchain_asks_people(decide: Any, result: str) -> None:
    start = {"messages": [{"role": "user", "content": "Write to Ada."}]}
    thread = Harness(agents.careful).play(start, decide=decide)
    assert thread.status == "succeeded", thread
    assert result in thread.state["messages"][2]["value"]["data"]["content"]


def test_a_fork_and_an_edit_change_channels(tmp_path: Path) -> None:
    thread = Harness(agents.rounds).play({"rounds": 2})
    fork = thread.fork(3, {"rounds": 1, "count": 1, "lines": ["mine"]})
    assert fork.status == "succeeded", fork
    assert fork.state["lines"] == ["mine", "left 1", "right 1"]
    assert thread.verify()


def test_a_static_breakpoint_waits_until_people_let_it_go_on() -> None:
    thread = Harness(agents.stopped).play({"rounds": 2})
    stops = []
    while thread.status == "waiting":
        (request,) = thread.open
        args = dict(request.args)
        stops.append((list(args["before"]), list(args["after"])))
        assert request.title == f"Continue with {', '.join(args['next'])}?"
        thread.decide("approve")
    # Nothing is left to hold after the last node, as in LangGraph.
    assert stops == [(["meet"], []), ([], ["meet"]), (["meet"], [])]
    assert thread.status == "succeeded", thread
    assert thread.state["lines"] == ["left 0", "right 0", "left 1", "right 1"]
    assert thread.verify()


def test_a_breakpoint_at_every_node_holds_each_superstep() -> None:
    agent = from_langgraph(agents.rounds_graph(interrupt_before="*"), name="each")
    thread = Harness(agent).play({"rounds": 1}, decide="approve")
    assert thread.status == "succeeded", thread
    steps_held = [list(dict(a.args)["next"]) for a in thread.approvals]
    assert steps_held == [["left", "right"], ["meet"]]


@pytest.mark.parametrize("n", [0, *range(1, 24)])
def test_what_is_only_async_runs_in_a_loop_and_no_call_is_repeated(tmp_path: Path, n: int) -> None:
    start = {"messages": [{"role": "user", "content": "It is broken."}], "folder": str(tmp_path)}
    thread = Harness(agents.late, stop_after=n or None).play(start)
    while thread.status == "waiting":
        (request,) = thread.open
        thread.decide(Respond("Ada") if request.title == "Who is it?" else "approve")
    assert thread.status == "succeeded", thread
    assert thread.state["messages"][-1]["value"]["data"]["content"] == "Bye, Ada."
    assert (tmp_path / "1.refund").read_text() == "40.00"
    lines = {p.stem: len(p.read_text().splitlines()) for p in tmp_path.glob("*.log")}
    assert (
        len({line.split()[1] for line in (tmp_path / "refund.log").read_text().splitlines()}) == 1
    )
    # What was lost is at most the call whose record was the lost write.
    assert 6 <= sum(lines.values()) <= 6 + bool(n)


def test_the_limit_of_steps_fails_the_thread() -> None:
    agent = from_langgraph(agents.rounds_graph(), name="short", recursion_limit=4)
    thread = Harness(agent).play({"rounds": 9})
    assert thread.status == "failed"
    assert "recursion limit" in thread.reason


def test_a_graph_that_cannot_run_here_is_refused_where_it_is_registered() -> None:
    builder = agents.StateGraph(agents.Rounds)
    builder.add_node("left", agents.left)
    builder.add_edge(agents.START, "left")
    for inner, why in (
        (builder.compile(interrupt_before=["left"]), "only the outer graph"),
        (builder.compile(checkpointer=True), "a memory of its own"),
    ):
        outer = agents.StateGraph(agents.Rounds)
        outer.add_node("inner", inner)
        outer.add_edge(agents.START, "inner")
        with pytest.raises(GraphError, match=why):
            from_langgraph(outer.compile(), name="x")
    with pytest.raises(GraphError, match="not a tool of a ToolNode"):
        from_langgraph(builder.compile(), name="x", effects={"pay": agents.REFUND})
    with pytest.raises(GraphError, match="compiled StateGraph"):
        from_langgraph(builder, name="x")


def test_a_value_that_is_no_json_fails_the_step_with_its_place() -> None:
    builder = agents.StateGraph(agents.Spread)
    builder.add_node("look", lambda state: {"went": object()})
    builder.add_edge(agents.START, "look")
    thread = Harness(from_langgraph(builder.compile(), name="x")).play({"items": []})
    assert thread.status == "failed"
    assert "went is a builtins.object, which cannot be stored" in thread.reason
