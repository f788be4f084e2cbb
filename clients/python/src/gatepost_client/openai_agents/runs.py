"""Runs of the SDK: approvals per call, and run states that are committed and verified."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from ..current import Current, required, settle
from ..record import calls
from ..record.declared import ANNOUNCED, Approve
from ..record.steps import alone
from ..record.values import recordable
from ..record.work import Work
from ..wire.errors import ClientError
from ..wire.flow import Flow
from .conversation import Session, Trace, set_trace_processors
from .recorded import Provider, RecordedModel, RecordedTool, sdk

Json = dict[str, Any]
_controlled: set[int] = set()
# Instead of the one that sends what agents say and do to the maker of the SDK.
set_trace_processors([Trace()])


class Runner:
    """Runs agents as the SDK's `Runner` does; interruptions wait for people in the inbox."""

    @classmethod
    async def run(
        cls,
        starting_agent: Any,
        input: Any,
        *,
        approve: Mapping[str, Approve] | None = None,
        run_config: Any = None,
        **more: Any,
    ) -> Any:
        """Run to the final output; `approve` names the gates of tools that need approval.

        Each interruption is asked about by itself. The run state is committed before; a process
        that continues verifies the thread's record, restores it, and repeats no finished call.
        """
        scope = required("Runner.run()")
        control(starting_agent)
        config = run_config or sdk.RunConfig()
        config = replace(config, model_provider=Provider(config.model_provider))
        name = scope.work.name_call(f"{starting_agent.name}.run")
        state = await _restored(scope, starting_agent, name, more.get("session"))
        while True:
            if state is not None:
                await _decide(scope, state, approve or {})
            result = await sdk.Runner.run(
                starting_agent, input if state is None else state, run_config=config, **more
            )
            if not result.interruptions:
                return result
            state = result.to_state()
            await settle(scope, alone(_seal(scope.work, name, state.to_json())))


def control(agent: Any) -> Any:
    """Record the calls of an agent, its tools and those that it hands off to; gives the agent."""
    if id(agent) in _controlled:
        return agent
    _controlled.add(id(agent))
    ANNOUNCED.append(lambda: _approvable(agent.tools))
    if isinstance(agent.model, sdk.Model):
        agent.model = RecordedModel(agent.model)
    for tool in agent.tools:
        if isinstance(tool, sdk.FunctionTool) and not isinstance(tool.on_invoke_tool, RecordedTool):
            tool.on_invoke_tool = RecordedTool(tool.name, tool.on_invoke_tool)
    for other in agent.handoffs:
        if isinstance(other, sdk.Agent):
            control(other)
    return agent


def _approvable(tools: Iterable[Any]) -> dict[str, Json]:
    """Tools as they are announced: those that need approval as effects."""
    return {
        tool.name: {
            "schema": tool.params_json_schema if tool.needs_approval else None,
            "description": tool.description[:1000],
            "effect": bool(tool.needs_approval),
        }
        for tool in tools
        if isinstance(tool, sdk.FunctionTool)
    }


def _named_tools() -> Iterator[Any]:
    """The tools that a module of this process names, by themselves or in an agent.

    A thread is started, and its tools are announced, before it comes to `Runner.run()`.
    """
    for module in list(sys.modules.values()):
        values = list(vars(module).values()) if isinstance(module, ModuleType) else []
        for value in values:
            if issubclass(type(value), sdk.FunctionTool):
                yield value
            elif issubclass(type(value), sdk.Agent):
                yield from value.tools


ANNOUNCED.append(lambda: _approvable(_named_tools()))


def _seal(work: Work, name: str, state: Json) -> Flow[None]:
    """Commit a run state, with the places of the calls before it; the chain covers both."""
    seal = {"state": recordable(state, "The run state"), "counts": dict(work.counts)}
    work.undone.clear()
    yield from work.boundary(name, name)
    yield from work.commit(name, {"merge": {"steps": {f"{name}.state": seal}}})


async def _restored(scope: Current, agent: Any, name: str, session: Any) -> Any:
    """The sealed run state, restored; None where there is none."""
    work = scope.work
    if not work.is_recorded(f"{name}.state"):
        return None
    proof = await settle(scope, work.api.verify())
    if not proof["intact"]:
        raise ClientError(f"The thread's record is not intact: {proof['what']}")
    seal = work.answer(f"{name}.state")
    work.counts = Counter(seal["counts"])
    if isinstance(session, Session):
        session.replay(work)
    return await sdk.RunState.from_json(agent, seal["state"])


async def _decide(scope: Current, state: Any, approve: Mapping[str, Approve]) -> None:
    """Ask people about each interruption, and enter into the run state what they decided."""
    work, items = scope.work, state.get_interruptions()
    key = work.name_call("decisions")
    proposals = [_proposed(item, approve) for item in items]
    if work.is_recorded(key):
        answers: list[Json] = work.answer(key)
    else:
        answers = await settle(scope, calls.ask_people(work, [one.query for one in proposals]))
        work.keep(key, answers)
    for item, proposed, answer in zip(items, proposals, answers, strict=True):
        by = f" ({answer['by']})" if answer["by"] else ""
        comment = f": {answer['comment']}" if answer["comment"] else "."
        if answer["state"] != "answered":
            why = (
                "Nobody decided in time." if answer["state"] == "expired" else f"Rejected{comment}"
            )
            state.reject(item, rejection_message=why)
        elif answer["answer"] != proposed.args:
            # The SDK has no edited arguments: the model is to call it anew, and people see that.
            edited = json.dumps(answer["answer"], ensure_ascii=False)
            why = (
                f"A reviewer{by} changed the arguments{comment} Call {proposed.tool} with {edited}"
            )
            state.reject(item, rejection_message=why)
        else:
            work.decided[_call_id(item)] = proposed
            if not work.is_recorded(proposed.key):
                work.undone.add(proposed.key)
            state.approve(item)


def _proposed(item: Any, approve: Mapping[str, Approve]) -> calls.Proposed:
    tool = str(item.name)
    args = recordable(json.loads(item.arguments or "{}"), f"What {tool!r} is called with")
    key = f"{tool} {_call_id(item)}"[:190]
    return calls.Proposed(tool, key, args, approve.get(tool, Approve()))


def _call_id(item: Any) -> str:
    return str(item.call_id)
