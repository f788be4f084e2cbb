"""What every client of the API for agents that work elsewhere has to come through.

Each scenario is plain HTTP steps with an `Agent`, so it is the same for Django's test client, for
a client library and for a language of its own. SCENARIOS names them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from .entry import Agent

SCENARIOS: dict[str, Callable[[Agent], None]] = {}


def scenario(call: Callable[[Agent], None]) -> Callable[[Agent], None]:
    SCENARIOS[call.__name__] = call
    return call


@scenario
def from_start_to_end(a: Agent) -> None:
    """Started, taken, two steps, ended; the past is on record as the agent told it."""
    started = a.start(framework="python", nodes=["plan", "send"], input={"goal": "tea"})
    assert started["status"] == "queued"
    can = ["edit", "fork", "roll_back"]
    assert started["external"] == {"framework": "python", "can": can, "watched": False}
    assert a.get("next/")["do"] == "take"
    lease = a.take()
    assert (lease["state"], lease["thread"]["step"]) == ({"goal": "tea"}, 0)
    assert lease["thread"]["next_nodes"] == ["plan"]
    assert a.get("next/")["do"] == "work"
    made = a.commit(1, nodes=["plan"], next_nodes=["send"], delta={"set": {"plan": ["boil"]}})
    assert (made["checkpoint"]["step"], made["thread"]["status"]) == (1, "running")
    a.commit(2, nodes=["send"], state={"goal": "tea", "plan": ["boil", "pour"]})
    assert a.release("succeeded")["status"] == "succeeded"
    assert a.get("next/")["do"] == "ended"
    assert a.get("state/")["state"] == {"goal": "tea", "plan": ["boil", "pour"]}
    events = a.get("events/?limit=100")["results"]
    reported = [e for e in events if e["kind"] == "checkpoint.committed"]
    assert len(reported) == 2
    assert all(e["actor"].endswith(f"/agent:{a.name}") for e in reported)


@scenario
def resumed_by_name(a: Agent) -> None:
    """Another process finds the thread by its name, and what was done answers from the record."""
    a.start(name="nightly", input={"n": 1})
    a.take()
    a.commit(1, delta={"set": {"n": 2}})
    assert a.begin("look#0", kind="activity", args={"at": 1})["do"] == "call"
    a.settle("look#0", kind="activity", args={"at": 1}, result={"rows": 3})
    a.release("queued")
    other = Agent(a.send, a.people, a.agent, name="host-2")
    other.start(name="nightly", status=200)
    assert other.thread == a.thread
    lease = other.take()
    assert lease["state"] == {"n": 2}
    assert [one["key"] for one in lease["activities"]] == ["look#0"]
    begun = other.begin("look#0", kind="activity", args={"at": 1})
    assert (begun["do"], begun["result"]) == ("answer", {"rows": 3})
    assert other.begin("look#0", kind="activity", args={"at": 2})["do"] == "call"
    refused = a.call("POST", "checkpoints/", {"step": 2, "delta": {"set": {"n": 9}}})
    assert (refused.status, refused.code) == (409, "lease-lost")
    assert other.get("state/")["state"] == {"n": 2}


@scenario
def an_effect_behind_a_gate(a: Agent) -> None:
    """Nothing is done before people decide; what they decided is begun once, with their bytes."""
    a.start(tools={"charge": {"schema": {"type": "object"}}})
    a.take()
    gate = {"title": "Charge the card", "risk": "high"}
    begun = a.begin("charge#0", args={"cents": 100}, gate=gate)
    assert (begun["do"], begun["thread"]["status"]) == ("wait", "waiting")
    assert [one["title"] for one in begun["approvals"]] == ["Charge the card"]
    assert a.get("next/")["do"] == "wait"
    a.decide("edit", args={"cents": 50}, comment="half")
    step = a.get("next/?wait=20&after=0")
    assert step["do"] == "take"
    a.take()
    begun = a.begin("charge#0", args={"cents": 100}, gate=gate)
    assert (begun["do"], begun["args"], begun["comment"]) == ("call", {"cents": 50}, "half")
    key = begun["idempotency_key"]
    assert len(key) == 64
    done = a.settle("charge#0", result={"id": "ch_1"})
    assert (done["state"], done["args"], done["idempotency_key"]) == ("done", {"cents": 50}, key)
    again = a.begin("charge#0", args={"cents": 100}, gate=gate)
    assert (again["do"], again["result"], again["args"]) == (
        "answer",
        {"id": "ch_1"},
        {"cents": 50},
    )
    assert a.settle("charge#0", result={"id": "another"})["result"] == {"id": "ch_1"}


@scenario
def a_refused_effect(a: Agent) -> None:
    """A rejection is told with its words, and the agent keeps its lease."""
    a.start()
    a.take()
    gate = {"title": "Charge the card"}
    a.begin("charge#0", args={"cents": 100}, gate=gate)
    a.decide("reject", comment="too dear")
    a.take()
    begun = a.begin("charge#0", args={"cents": 100}, gate=gate)
    assert (begun["do"], begun["reason"]) == ("refused", "too dear")
    assert a.call("POST", "activities/settle/", _settled("charge#0")).status == 409
    a.commit(1, delta={"set": {"charged": False}})


@scenario
def people_are_asked(a: Agent) -> None:
    """A question and two interrupts at once; each is answered by itself."""
    a.start()
    a.take()
    inbox = {"allow_accept": True, "allow_edit": True, "allow_ignore": True}
    request = {"action": "mail", "args": {"to": "ada"}}
    ask = {
        "ask": [
            {"node": "work", "key": "q#0", "question": {"question": "How many?"}},
            {
                "node": "work",
                "key": "i#0",
                "interrupt": {"action_request": request, "config": inbox, "description": "Mail"},
            },
        ]
    }
    result = a.post("approvals/", ask)
    assert (result["do"], len(result["approvals"])) == ("wait", 2)
    for one in a.get("next/")["approvals"]:
        verdict = {"verdict": "respond", "args": "seven"}
        if one["key"] == "i#0":
            verdict = {"verdict": "edit", "args": {"to": "bob"}}
        path = f"/approvals/{one['id']}/decide/"
        body = {"proposal_hash": one["proposal_hash"], **verdict}
        assert a.people("POST", path, body, {}).status == 200
    a.take()
    result = a.post("approvals/", ask)
    assert result["do"] == "answer", result
    by_key = {one["key"]: one for one in result["answers"]}
    assert by_key["q#0"]["answer"] == "seven"
    edited = {"action": "mail", "args": {"to": "bob"}}
    assert by_key["i#0"]["answer"] == {"type": "edit", "args": edited}


@scenario
def effects_are_proposed_together(a: Agent) -> None:
    """Several effects are asked about at once; each is begun afterwards as it was decided."""
    a.start()
    a.take()
    gate = {"title": "Charge the card"}

    def proposed(key: str, cents: int) -> dict[str, Any]:
        effect = {"tool": "charge", "args": {"cents": cents}, "gate": gate}
        return {"node": "work", "key": key, "effect": effect}

    ask = {"ask": [proposed("a", 1), proposed("b", 2), proposed("c", 3)]}
    result = a.post("approvals/", ask)
    assert (result["do"], len(result["approvals"])) == ("wait", 3)
    verdicts: dict[str, dict[str, Any]] = {
        "a": {"verdict": "approve"},
        "b": {"verdict": "edit", "args": {"cents": 1}, "comment": "less"},
        "c": {"verdict": "reject", "comment": "no"},
    }
    for one in a.get("next/")["approvals"]:
        body = {"proposal_hash": one["proposal_hash"], **verdicts[one["key"]]}
        assert a.people("POST", f"/approvals/{one['id']}/decide/", body, {}).status == 200
    a.take()
    result = a.post("approvals/", ask)
    answers = {
        one["key"]: (one["state"], one["answer"], one["comment"]) for one in result["answers"]
    }
    assert answers == {
        "a": ("answered", {"cents": 1}, ""),
        "b": ("answered", {"cents": 1}, "less"),
        "c": ("rejected", None, "no"),
    }
    assert not a.get("activities/")["results"]  # nothing has begun
    assert a.begin("c", args={"cents": 3}, gate=gate)["do"] == "refused"
    for key, cents in (("a", 1), ("b", 2)):
        begun = a.begin(key, args={"cents": cents}, gate=gate)
        assert (begun["do"], begun["args"]) == ("call", {"cents": 1})
        a.settle(key, result=key)
    again = a.post("approvals/", ask)
    assert [one["answer"] for one in again["answers"]] == [{"cents": 1}, {"cents": 1}, None]
    a.commit(1, delta={"set": {"charged": 2}})


@scenario
def committed_once(a: Agent) -> None:
    """The same checkpoint sent again is answered, another one under its id is refused."""
    a.start()
    a.take()
    ident = str(uuid4())
    first = {"id": ident, "nodes": ["work"], "delta": {"append": {"log": ["one"]}}}
    made = a.commit(1, **first)["checkpoint"]
    assert made["id"] == ident
    assert a.commit(1, status=200, **first)["checkpoint"] == made
    other = {**first, "step": 1, "delta": {"append": {"log": ["two"]}}}
    refused = a.call("POST", "checkpoints/", other)
    assert (refused.status, refused.code) == (409, "position-taken")
    a.commit(2, delta={"append": {"log": ["two"]}})
    assert a.commit(2, status=200, delta={"append": {"log": ["two"]}})["checkpoint"]["step"] == 2
    stale = a.call("POST", "checkpoints/", {"step": 7, "delta": {}})
    assert (stale.status, stale.code, stale.body["step"]) == (412, "stale", 3)
    assert a.get("state/")["state"] == {"log": ["one", "two"]}


@scenario
def branches_of_the_past(a: Agent) -> None:
    """A step after an earlier checkpoint begins a branch; all of them stay readable."""
    a.start(framework="langgraph", channels={"log": "append"})
    a.take()
    ids = [str(uuid4()) for _ in range(4)]
    for n, ident in enumerate(ids[:3], 1):
        delta = {"append": {"log": [n]}, "set": {"meta": {"id": ident}}}
        a.commit(n, id=ident, delta=delta)
    record = {"node": "task", "index": 0, "key": "log", "result": [9]}
    a.post("activities/record/", {"checkpoint": ids[0], "records": [record]})
    delta = {"append": {"log": [22]}, "set": {"meta": {"id": ids[3]}}}
    made = a.post("checkpoints/", {"id": ids[3], "parent": ids[0], "delta": delta}, status=201)
    assert (made["checkpoint"]["step"], made["checkpoint"]["branch"]) == (2, 1)
    states = {i: a.get(f"state/?checkpoint={i}")["state"]["log"] for i in ids}
    assert [states[i] for i in ids] == [[1], [1, 2], [1, 2, 3], [1, 22]]
    assert a.get("state/")["state"]["log"] == [1, 22]
    rows = a.get("checkpoints/?show=meta")["results"]
    assert {row["id"]: row["shown"]["meta"]["id"] for row in rows if row["shown"]} == {
        i: i for i in ids
    }
    (row,) = a.get(f"checkpoints/?show=meta&id={ids[1]}")["results"]
    assert (row["id"], row["abandoned"] in (True, False)) == (ids[1], True)
    (written,) = a.get(f"activities/?checkpoint={ids[0]}")["results"]
    assert (written["node"], written["result"]) == ("task", [9])


@scenario
def messages_and_a_pause(a: Agent) -> None:
    """Messages reach the agent, are taken with a step; a pause comes with the step's end."""
    a.start(message_channel="messages", channels={"messages": "append"})
    a.take()
    sent = a.operate("input/", {"message": "faster"})
    assert sent.status == 200, sent
    (message,) = a.get("next/")["messages"]
    assert message["message"] == "faster"
    taken = {"delta": {"append": {"messages": ["faster"]}}, "taken": [message["seq"]]}
    a.commit(1, next_nodes=["work"], **taken)
    assert a.get("next/")["messages"] == []
    assert a.operate("pause/", {}).status == 200
    made = a.commit(2, next_nodes=["work"], delta={})
    assert made["thread"]["status"] == "paused"
    step = a.get("next/")
    assert (step["do"], step["lease"]) == ("stop", "none")


@scenario
def nobody_knows(a: Agent) -> None:
    """An effect whose outcome is unknown stops the thread for a person; so does a lost one."""
    a.start()
    a.take()
    assert a.begin("charge#0", args={"cents": 1})["do"] == "call"
    again = a.begin("charge#0", args={"cents": 1})
    assert (again["do"], again["thread"]["status"]) == ("stop", "attention")
    assert "unknown" in again["reason"]
    assert a.get("next/")["do"] == "stop"


@scenario
def a_rollback_is_undone_by_the_agent(a: Agent) -> None:
    """What is to be undone is listed; after the last one the head is back, and not before."""
    a.start(tools={"charge": {"undo": "refund"}}, input={"n": 0})
    first = a.take()["thread"]["head"]
    a.begin("charge#0", args={"cents": 1})
    a.settle("charge#0", result={"id": "ch_1"})
    a.commit(1, delta={"set": {"n": 1}})
    a.release("succeeded")
    rollback = f"/threads/{a.thread}/rollback/"
    body = {"checkpoint": first, "reason": "wrong"}
    assert a.people("POST", rollback, body, {}).status == 202
    step = a.get("next/")
    assert (step["do"], [one["result"] for one in step["undo"]]) == ("undo", [{"id": "ch_1"}])
    a.take()
    assert a.get("state/")["state"] == {"n": 1}
    done = a.post(f"activities/{step['undo'][0]['id']}/undo/", {"result": "refunded"})
    assert done["thread"]["status"] == "paused"
    assert a.get("state/")["state"] == {"n": 0}
    (effect,) = [one for one in a.get("activities/")["results"] if one["kind"] == "effect"]
    assert (effect["state"], effect["undo_result"]) == ("compensated", "refunded")


@scenario
def a_rollback_with_nothing_to_undo(a: Agent) -> None:
    """The head is set back without the agent; a report of before is refused."""
    a.start(input={"n": 0})
    first = a.take()["thread"]["head"]
    a.commit(1, delta={"set": {"n": 1}})
    body = {"checkpoint": first, "reason": "wrong"}
    assert a.people("POST", f"/threads/{a.thread}/rollback/", body, {}).status == 202
    assert a.get("state/")["state"] == {"n": 0}
    refused = a.call("POST", "checkpoints/", {"delta": {"set": {"n": 2}}})
    assert (refused.status, refused.code) == (409, "lease-lost")
    assert a.operate("resume/", {}).status == 200
    assert a.take()["state"] == {"n": 0}


@scenario
def a_fork_is_work_for_the_agent(a: Agent) -> None:
    """A fork waits to be taken; an agent that cannot go on from one says so, and none is made."""
    a.start(input={"n": 0})
    head = a.take()["thread"]["head"]
    body = {"checkpoint": head, "changes": {"n": 5}}
    made = a.people("POST", f"/threads/{a.thread}/fork/", body, {})
    assert made.status == 201, made
    fork = Agent(a.send, a.people, a.agent, thread=made.body["id"])
    assert fork.get("next/")["do"] == "take"
    assert fork.take()["state"] == {"n": 5}
    fork.commit(1, delta={"set": {"n": 6}})
    other = Agent(a.send, a.people)
    other.start(framework="script", can=["edit"])
    head = other.take()["thread"]["head"]
    refused = a.people("POST", f"/threads/{other.thread}/fork/", {"checkpoint": head}, {})
    assert (refused.status, "can't continue from a fork" in refused.body["detail"]) == (409, True)


@scenario
def state_that_does_not_fit(a: Agent) -> None:
    """An announced schema holds: nothing is written, and the path is named."""
    schema = {"properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    a.start(schema=schema, input={"n": 1})
    a.take()
    refused = a.call("POST", "checkpoints/", {"step": 1, "delta": {"set": {"n": "two"}}})
    assert (refused.status, refused.body["path"]) == (422, "$.delta.set.n")
    refused = a.call("POST", "checkpoints/", {"step": 1, "state": {"n": 1, "m": 2}})
    assert refused.status == 422
    a.commit(1, delta={"set": {"n": 2}})
    assert a.get("state/")["state"] == {"n": 2}


def _settled(key: str, **more: Any) -> dict[str, Any]:
    return {
        "node": "work",
        "key": key,
        "kind": "effect",
        "tool": "charge",
        "state": "done",
        **more,
    }
