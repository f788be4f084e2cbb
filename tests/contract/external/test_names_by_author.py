"""Each author of a call times each spelling of its tool, generated: none escapes a policy.

The adapters' own flows run against the entry in this process: those of scripts, of Pydantic AI and
of OpenAI Agents, and what LangGraph's adapter records. `test_names_at_the_gateway.py` does the same
for the MCP gateway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from checkpoints import queries
from checkpoints.names import name_fault
from gatepost_client.record import calls, steps
from gatepost_client.record.declared import MODEL, Effect
from gatepost_client.record.work import Work
from gatepost_client.wire import flow as wire
from gatepost_client.wire.errors import Refused, Waiting
from gatepost_client.wire.requests import API
from gatepost_client.wire.settings import Settings
from tests.support.cast import Cast

from .entry import Agent
from .test_names_and_kinds import SPELLINGS

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("E02")]
NAMES = ["charge", *SPELLINGS]
ARGS = {"amount": "10.00"}
FRAMEWORK = "pydantic_ai"
called: list[str] = []


def pay(amount: str) -> str:
    """What none of these calls may come to."""
    called.append(amount)
    return amount


def _begun(work: Work, call: calls.PureCall) -> wire.Flow[None]:
    begun = yield from calls.begin_call(work, call)
    called.append(begun["do"])


def a_step(work: Work, tool: str) -> wire.Flow[Any]:
    return steps.perform_step(work, tool, pay, (), ARGS)


def an_effect(work: Work, tool: str) -> wire.Flow[Any]:
    return steps.perform_effect(work, Effect(tool, pay), (), ARGS)


def a_tool_of_an_adapter(work: Work, tool: str) -> wire.Flow[Any]:
    return _begun(work, calls.PureCall(tool, tool, "activity", tool, ARGS))


def a_tool_at_the_node_of_models(work: Work, tool: str) -> wire.Flow[Any]:
    return _begun(work, calls.PureCall("x.model", "x", "activity", tool, ARGS, announced=MODEL))


def a_model_of_that_name(work: Work, tool: str) -> wire.Flow[Any]:
    return _begun(work, calls.PureCall(MODEL, "x", "model", tool, ARGS))


def a_call_of_the_framework(work: Work, tool: str) -> wire.Flow[Any]:
    return _begun(work, calls.PureCall(tool, "x", "model", tool, ARGS, announced=FRAMEWORK))


def an_approved_call(work: Work, tool: str) -> wire.Flow[Any]:
    def begin() -> wire.Flow[None]:
        begun = yield from calls.begin_proposed(work, calls.Proposed(tool, "x", ARGS))
        called.append(begun["do"])

    return begin()


def what_langgraph_records(work: Work, tool: str) -> wire.Flow[Any]:
    one = {"node": "work", "index": 0, "key": "x", "kind": "value", "tool": tool, "args": ARGS}
    return work.api.record([{**one, "result": 1}], None)


AUTHORS: list[Callable[[Work, str], wire.Flow[Any]]] = [
    *(a_step, an_effect, a_tool_of_an_adapter, a_tool_at_the_node_of_models),
    *(a_model_of_that_name, a_call_of_the_framework, an_approved_call, what_langgraph_records),
]


def perform(agent: Agent, flow: wire.Flow[Any]) -> None:
    """Perform a flow as the client's transports do, by the driver of the test."""
    answer: Any = None
    while True:
        try:
            command = flow.send(answer)
        except StopIteration:
            return
        answer = None
        if isinstance(command, wire.Call):
            answer = command.function(*command.args, **command.kwargs)
        elif isinstance(command, wire.Send):
            path = command.path.removeprefix(API)
            sent = agent.send(command.method, path, command.body, command.headers)
            answer = wire.Answer(sent.status, sent.headers, sent.body)


@pytest.fixture(autouse=True)
def policy(cast: Cast) -> None:
    policies.make(cast.workspace, Draft("Charges", "tool == 'charge'"), actor="user:0")
    called.clear()


@pytest.mark.slow
@pytest.mark.parametrize("author", AUTHORS, ids=lambda author: author.__name__)
def test_no_spelling_escapes_any_author(
    agent: Agent, author: Callable[[Work, str], wire.Flow[Any]]
) -> None:
    held = refused = recorded = 0
    for n, tool in enumerate(NAMES):
        announced: dict[str, Any] = {FRAMEWORK: {"effect": False}}
        announced |= {} if name_fault(tool) else {tool: {}}
        agent.lease = ""
        agent.start(name=f"thread {n}", tools=announced, nodes=["work", MODEL])
        work = Work(agent.thread, Settings("https://gatepost.example", "token", wait=0))
        perform(agent, work.take())
        try:
            perform(agent, author(work, tool))
        except Waiting:
            held += 1
        except Refused as error:
            refused += error.status in (400, 409, 422)
        else:
            # What is only recorded is a value of that name: no call, and none is held.
            assert author is what_langgraph_records, ascii(tool)
            assert tool not in announced, ascii(tool)
            recorded += 1
            continue
        assert called == [], ascii(tool)
        assert queries.activities(UUID(agent.thread)) == [], ascii(tool)
    assert held + refused + recorded == len(NAMES)
    assert held >= 4 or author is what_langgraph_records
    assert refused >= 4
