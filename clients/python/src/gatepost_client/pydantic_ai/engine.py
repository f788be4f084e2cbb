"""The durable engine: one capability, and how its runs wait for people."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.capabilities import RequestInput, WrapRunHandler
from pydantic_ai.durable_exec import (
    JSON_CODEC,
    BaseDurabilityCapability,
    DurabilityEngineSpec,
    ExternalEventError,
    ExternalEventWaiter,
    conversation_id_from_run_id,
    external_event_scope,
    replay_scope,
)
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied

from ..current import current, required, settle
from ..framework_calls import once
from ..record import calls
from ..record.declared import ANNOUNCED, Approve
from ..record.steps import perform_question
from ..record.values import recordable
from ..record.work import Work
from ..wire.errors import Expired, Rejected
from .activities import FRAMEWORK, Activities, executed, is_idempotent

Json = dict[str, Any]
_deferred: ContextVar[DeferredToolRequests | None] = ContextVar("deferred", default=None)


class Gatepost(BaseDurabilityCapability[Any]):
    """Makes an agent durable inside of a function with `@agent`; elsewhere it changes nothing.

    `approve` names the gates of tools that need approval, `announce` tools that are no
    functions of the agent, such as an MCP server's. A tool's `metadata={"gatepost":
    {"idempotent": True}}` says that it acts once for one `idempotency_key()`.
    """

    engine_spec: ClassVar = DurabilityEngineSpec(
        engine_name="Gatepost",
        durable_unit_noun="activity",
        durable_unit_plural="activities",
        durable_container_noun="agent",
        codec=JSON_CODEC,
        sequential_tools_in_durable_context=True,  # calls are distinguished by their order
        unsupported_runtime_toolset_kinds=frozenset({"function", "mcp", "dynamic"}),
    )

    def __init__(
        self,
        *,
        approve: Mapping[str, Approve] | None = None,
        announce: Sequence[str] = (),
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.approve = dict(approve or {})
        self.announce = {*announce, *self.approve}

    def for_agent(self, agent: Any) -> Any:
        """Bind to the agent; its tools are announced with their schemas."""
        named: dict[str, Json] = {FRAMEWORK: {"effect": False}} | {n: {} for n in self.announce}
        ANNOUNCED.append(lambda: named | _approvable(agent))
        return super().for_agent(agent)

    @property
    def in_durable_context(self) -> bool:
        """True while an agent of ours is at work, outside of its steps."""
        scope = current()
        return scope is not None and not scope.part

    def get_durable_operation_backend(self) -> Activities:
        """Make the backend that records the calls."""
        return Activities(agent_name=self.name, default_model_id=self.default_model_id)

    def get_ordering(self) -> Any:
        """Before `RequestInput`, whose wait does not say what it asks about."""
        ordering = super().get_ordering()
        return replace(ordering, wraps=(*ordering.wraps, RequestInput))

    def get_default_run_id(self) -> str | None:
        """An id that is the same in a replay."""
        if not self.in_durable_context:
            return None
        work = required("An agent").work
        return f"{work.thread}/{work.name_call(f'{self.name}.run')}"

    def get_default_conversation_id(self, run_id: str) -> str | None:
        """An id that is the same in a replay."""
        return conversation_id_from_run_id(run_id) if self.in_durable_context else None

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> Any:
        """Record what the run calls, and let it wait for people."""
        if not self.in_durable_context:
            return await handler()
        with replay_scope(), external_event_scope(Inbox(self)):
            return await super().wrap_run(ctx, handler=handler)

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: Any, args: Any, handler: Any
    ) -> Any:
        """Note which call is executed: an approved one is begun as an effect."""
        token = executed.set((call, tool_def))
        try:
            return await handler(args)
        finally:
            executed.reset(token)

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Ask people; where the agent has a `RequestInput`, that one asks first."""
        if not self.in_durable_context:
            return None
        capabilities: list[Any] = []
        if ctx.root_capability is not None:
            ctx.root_capability.apply(capabilities.append)
        if any(isinstance(one, RequestInput) for one in capabilities):
            _deferred.set(requests)
            return None
        return await self.decide(requests)

    async def decide(
        self, requests: DeferredToolRequests, timeout: timedelta | None = None
    ) -> DeferredToolResults:
        """Ask people about all calls together; what they decided, and who."""
        scope = required("An approval")
        work, key = scope.work, scope.work.name_call("decisions")
        seconds = None if timeout is None else timeout.total_seconds()
        proposals = [self._proposed(work, call, requests, seconds) for call in requests.approvals]
        queries = [one.query for one in proposals]
        queries += [_question(work, call, seconds) for call in requests.calls]
        if work.is_recorded(key):
            answers: list[Json] = work.answer(key)
        else:
            answers = await settle(scope, calls.ask_people(work, queries))
            work.keep(key, answers)
        results = DeferredToolResults()
        for one, proposed, answer in zip(requests.approvals, proposals, answers, strict=False):
            work.decided[one.tool_call_id] = proposed
            results.approvals[one.tool_call_id] = _verdict(proposed, answer)
            if answer["state"] == "answered" and not work.is_recorded(proposed.key):
                work.undone.add(proposed.key)
        for one, answer in zip(requests.calls, answers[len(proposals) :], strict=True):
            is_answered = answer["state"] == "answered"
            result = answer["answer"] if is_answered else ToolFailed(_refusal(answer))
            results.calls[one.tool_call_id] = result
        parts = [*requests.approvals, *requests.calls]
        by = {p.tool_call_id: a["by"] for p, a in zip(parts, answers, strict=True) if a["by"]}
        results.answered_by = by
        return results

    def _proposed(
        self, work: Work, call: ToolCallPart, requests: DeferredToolRequests, seconds: Any
    ) -> calls.Proposed:
        approve = self.approve.get(call.tool_name, Approve())
        details = requests.metadata.get(call.tool_call_id, {})
        text = "\n".join(f"{name}: {value}" for name, value in details.items())
        approve = replace(
            approve,
            description=approve.description or text,
            expires_in=approve.expires_in if seconds is None else seconds,
        )
        args = recordable(call.args_as_dict(), f"What {call.tool_name!r} is called with")
        return calls.Proposed(call.tool_name, work.name_call(call.tool_name), args, approve)


def _verdict(proposed: calls.Proposed, answer: Json) -> ToolApproved | ToolDenied:
    if answer["state"] != "answered":
        return ToolDenied(_refusal(answer))
    decided = answer["answer"]
    return ToolApproved(override_args=None if decided == proposed.args else decided)


def _refusal(answer: Json) -> str:
    if answer["state"] == "expired":
        return "Nobody decided in time."
    return str(answer["comment"] or "A reviewer rejected this call.")


def _question(work: Work, call: ToolCallPart, seconds: float | None) -> Json:
    args = call.args_as_dict()
    title = next((str(v) for v in args.values() if isinstance(v, str) and v.strip()), "")
    question: Json = {"question": title or f"{call.tool_name}?", "schema": {}}
    question["description"] = f"{call.tool_name}: {json.dumps(args, ensure_ascii=False)}"
    if seconds is not None:
        question["expires_in"] = seconds
    key = work.name_call(call.tool_name)
    return {"node": call.tool_name, "index": 0, "key": key, "question": question}


def _approvable(agent: Any) -> dict[str, Json]:
    """The tools of an agent, as they are announced: those that need approval as effects."""
    leaves: list[Any] = []
    for toolset in agent.toolsets:
        toolset.apply(leaves.append)
    own = {
        n: t for leaf in leaves if isinstance(leaf, FunctionToolset) for n, t in leaf.tools.items()
    }
    return {
        name: {
            "schema": tool.tool_def.parameters_json_schema if tool.requires_approval else None,
            "idempotent": is_idempotent(tool.tool_def),
            "description": (tool.description or "")[:1000],
            "effect": bool(tool.requires_approval),
        }
        for name, tool in own.items()
    }


class Inbox(ExternalEventWaiter):
    """Waits for people without a process; a token is the thread's id and the wait's name."""

    def __init__(self, capability: Gatepost) -> None:
        self._capability = capability

    async def wait(
        self, name: str, *, ask: Callable[[str], Awaitable[Any]], timeout: timedelta | None
    ) -> Any:
        """The answer of `ask`, else that of a person in the inbox."""
        scope = required("An external event")
        requests = _deferred.get()
        _deferred.set(None)
        key = scope.work.name_call(f"{name}.ask")
        token = f"{scope.work.thread}/{key}"
        call = calls.PureCall(
            f"{name}.ask", key, "activity", FRAMEWORK, {"token": token}, announced=FRAMEWORK
        )
        answer, _ = await once(scope, call, lambda: ask(token))
        if answer is not None:
            return answer
        if requests is not None:
            results = await self._capability.decide(requests, timeout)
            return JSON_CODEC.dump(DeferredToolResults, results)
        question: Json = {"question": name, "description": token, "schema": {}}
        if timeout is not None:
            question["expires_in"] = timeout.total_seconds()
        try:
            return await settle(scope, perform_question(scope.work, question))
        except (Rejected, Expired) as error:
            raise ExternalEventError(str(error)) from error
