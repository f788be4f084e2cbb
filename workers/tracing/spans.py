"""Spans of a committed event, by the GenAI semantic conventions of OpenTelemetry; pure.

A span is made of an event that ended something, so it is complete, and the same event gives the
same span again. Texts that people or models wrote are in no span; error texts are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from checkpoints.log import traces
from checkpoints.queries.installation.event_feed import FeedEvent
from checkpoints.records import Position
from checkpoints.states import EventKind

ERROR_MAX: Final = 500
SERVER, CLIENT, INTERNAL = "server", "client", "internal"
# The words of a reviewer after the error that they become.
_COMMENT: Final = re.compile(r"(Rejected by [^:]*):.*", re.DOTALL)
# An error is recorded as its type and message, or as a sentence.
_TYPE: Final = re.compile(r"[A-Za-z_.]{1,100}(?=:|$)")


@dataclass(frozen=True, slots=True)
class Span:
    """One span; ids as hex, times by the database's clock, `error` "" where all went well."""

    name: str
    trace: str
    id: str
    parent: str
    kind: str
    start: datetime
    end: datetime
    attributes: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


def spans_of(event: FeedEvent) -> list[Span]:
    """The spans that an event ends; none of imported history and of traces not to be recorded."""
    make = _MAKERS.get(event.kind)
    if make is None or event.imported or not isinstance(event.data, dict):
        return []
    trace = traces.trace_of(event.root_chain, event.traceparent)
    return list(make(event, trace)) if trace.sampled else []


def _common(event: FeedEvent) -> dict[str, Any]:
    return {
        "gen_ai.agent.name": event.agent,
        "gen_ai.agent.version": event.version,
        "gen_ai.conversation.id": str(event.thread),
        "gatepost.workspace.id": str(event.workspace),
        "gatepost.event.seq": event.seq,
        "gatepost.actor": event.actor,
    }


def _span(
    event: FeedEvent,
    trace: traces.TraceContext,
    name: str,
    ident: str,
    parent: str,
    *,
    kind: str = INTERNAL,
    start: datetime | None = None,
    error: Any = "",
    **attributes: Any,
) -> Span:
    """A span that ends with the event; attributes with a dot are written with two underscores."""
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    text = _COMMENT.sub(r"\1", str(error or ""))[:ERROR_MAX]
    if text:
        kind_of_error = _TYPE.match(text)
        named["error.type"] = kind_of_error[0] if kind_of_error else "_OTHER"
    written = {k: v for k, v in (_common(event) | named).items() if v not in (None, "")}
    begun = event.at if start is None else min(start, event.at)
    return Span(name, trace.trace, ident, parent, kind, begun, event.at, written, text)


# ---- threads and steps ----------------------------------------------------------------------


def _started(event: FeedEvent, trace: traces.TraceContext) -> Iterator[Span]:
    """The start, as a web process or a parent's step took it: the root where nobody called."""
    data, parent = event.data, trace.span
    if data.get("hand_off"):
        parent = traces.thread_span(UUID(data["base_chain"]))
    elif event.parent_chain is not None:
        parent = traces.thread_span(event.parent_chain)
    yield _span(
        event,
        trace,
        f"start {event.agent}",
        traces.start_span(event.chain),
        parent,
        kind=SERVER,
        gatepost__forked_from=data.get("base"),
    )


def _ended(event: FeedEvent, trace: traces.TraceContext) -> Iterator[Span]:
    """A whole thread; a later end of one that was retried or rolled back is a span below it."""
    whole = traces.thread_span(event.chain)
    ident, parent, start = whole, traces.start_span(event.chain), event.created_at
    if event.ended_before is not None:
        ident, parent = traces.span_id(event.chain, "thread", event.seq), whole
        start = event.ended_before
    error = "" if event.kind == EventKind.THREAD_SUCCEEDED else str(event.kind)
    if event.kind == EventKind.THREAD_FAILED:  # a person wrote the reason of a cancellation
        error = event.data.get("reason") or error
    yield _span(
        event,
        trace,
        f"invoke_agent {event.agent}",
        ident,
        parent,
        start=start,
        error=error,
        gen_ai__operation__name="invoke_agent",
        gatepost__thread__status=event.kind.partition(".")[2],
        gatepost__thread__steps=event.steps,
        gatepost__thread__tokens=event.tokens,
        gatepost__thread__cost=event.cost,
    )


def _step(event: FeedEvent, trace: traces.TraceContext) -> Iterator[Span]:
    data = event.data
    if event.branch is None or not data.get("nodes"):
        return  # a rollback, an edit, an upgrade
    yield _span(
        event,
        trace,
        f"step {', '.join(data['nodes'])}",
        traces.step_span(event.chain, event.branch, data["step"]),
        traces.thread_span(event.chain),
        start=event.began,
        gatepost__step=data["step"],
        gatepost__branch=event.branch,
        gatepost__checkpoint__id=data["checkpoint"],
    )


def _step_failed(event: FeedEvent, trace: traces.TraceContext) -> Iterator[Span]:
    yield _point(
        event,
        trace,
        f"step {event.data.get('node') or ''}".strip(),
        start=event.began,
        error=event.data.get("error") or "failed",
        gatepost__step=event.data.get("step"),
    )


def _parked(event: FeedEvent, trace: traces.TraceContext) -> Iterator[Span]:
    """A thread that the engine does not continue without a person."""
    yield _point(
        event, trace, f"attention {event.agent}", error=event.data.get("reason") or "parked"
    )


def _point(
    event: FeedEvent, trace: traces.TraceContext, name: str, parent: str = "", **more: Any
) -> Span:
    """A span of one event; without length, unless `start` is given."""
    ident = traces.span_id(event.chain, "event", event.seq)
    return _span(event, trace, name, ident, parent or traces.thread_span(event.chain), **more)


# ---- activities -----------------------------------------------------------------------------


def _activity(event: FeedEvent, trace: traces.TraceContext) -> Iterator[Span]:
    data = event.data
    usage = data.get("usage") or {}
    kind = event.kind.partition(".")[0]
    start = event.at - timedelta(milliseconds=usage.get("milliseconds", 0))
    if kind == "effect" and event.started_at is not None:
        start = event.started_at
    name, role, attributes = _described(kind, data, usage)
    yield _span(
        event,
        trace,
        name,
        traces.activity_span(
            event.chain, _position(data), event.revision or 0, data.get("attempt", 1)
        ),
        _step_of(event),
        kind=role,
        start=start,
        error=data.get("error") or ("failed" if event.kind.endswith(".failed") else ""),
        gatepost__activity__id=data.get("activity"),
        gatepost__node=data.get("node"),
        gatepost__attempt=data.get("attempt", 1),
        gatepost__cost=usage.get("cost"),
        **attributes,
    )


def _position(data: Mapping[str, Any]) -> Position:
    return Position(data["branch"], data["step"], data["node"], data.get("index", 0), data["key"])


def _step_of(event: FeedEvent) -> str:
    return traces.step_span(event.chain, event.data["branch"], event.data["step"])


def _described(
    kind: str, data: Mapping[str, Any], usage: Mapping[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    """(name, kind, attributes) of an activity's span."""
    if kind == "model":
        model = usage.get("model", "")
        return (
            f"chat {model}".strip(),
            CLIENT,
            {
                "gen_ai__operation__name": "chat",
                "gen_ai__response__model": model,
                "gen_ai__response__id": usage.get("request_id"),
                "gen_ai__response__finish_reasons": _listed(usage.get("finish_reason")),
                "gen_ai__usage__input_tokens": usage.get("tokens_in"),
                "gen_ai__usage__output_tokens": usage.get("tokens_out"),
                "gen_ai__usage__cache_read__input_tokens": usage.get("tokens_cached"),
                "gen_ai__usage__reasoning__output_tokens": usage.get("tokens_reasoning"),
            },
        )
    tool = data["tool"]
    if kind == "effect":
        attributes = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": tool}
        return f"execute_tool {tool}", INTERNAL, attributes
    return f"activity {tool}", INTERNAL, {}


def _listed(value: Any) -> tuple[str, ...] | None:
    return (str(value),) if value else None


# ---- decision points ------------------------------------------------------------------------


def _decision_point(event: FeedEvent, trace: traces.TraceContext) -> Iterator[Span]:
    """A change of a request for approval: requested, decided, refused, expired, withdrawn."""
    data = event.data
    verdict = data.get("outcome") or data.get("verdict")
    did = _POINTS[event.kind]
    if event.kind == EventKind.APPROVAL_DECIDED and verdict == "reject":
        did = "refused"
    yield _point(
        event,
        trace,
        f"approval {did}",
        gatepost__approval__id=data.get("approval"),
        gatepost__approval__point=did,
        gatepost__approval__verdict=verdict,
        gatepost__approval__risk=data.get("risk"),
        gatepost__approval__proposal_hash=data.get("proposal_hash"),
        gatepost__node=data.get("node"),
        gen_ai__tool__name=data.get("tool"),
    )


def _consumed(event: FeedEvent, trace: traces.TraceContext) -> Iterator[Span]:
    """An effect that starts consumes its approval."""
    data = event.data
    if data.get("approval"):
        yield _point(
            event,
            trace,
            "approval consumed",
            _step_of(event),
            gatepost__approval__id=data["approval"],
            gatepost__approval__point="consumed",
            gen_ai__tool__name=data["tool"],
        )


_POINTS: Final[dict[str, str]] = {
    EventKind.APPROVAL_REQUESTED: "requested",
    EventKind.APPROVAL_DECIDED: "decided",
    EventKind.APPROVAL_EXPIRED: "expired",
    EventKind.APPROVAL_WITHDRAWN: "withdrawn",
    EventKind.DECISION_RECORDED: "vote recorded",
    EventKind.DECISION_REFUSED: "verdict refused",
    EventKind.DECISION_TAKEN_BACK: "verdict taken back",
    EventKind.TURN_HANDED_OVER: "turn handed over",
}
_MAKERS: Final[dict[str, Callable[[FeedEvent, traces.TraceContext], Iterator[Span]]]] = {
    EventKind.THREAD_STARTED: _started,
    EventKind.THREAD_FORKED: _started,
    EventKind.THREAD_SUCCEEDED: _ended,
    EventKind.THREAD_FAILED: _ended,
    EventKind.THREAD_CANCELLED: _ended,
    EventKind.THREAD_PARKED: _parked,
    EventKind.CHECKPOINT_COMMITTED: _step,
    EventKind.STEP_FAILED: _step_failed,
    EventKind.ACTIVITY_FINISHED: _activity,
    EventKind.ACTIVITY_FAILED: _activity,
    EventKind.MODEL_ANSWERED: _activity,
    EventKind.MODEL_FAILED: _activity,
    EventKind.EFFECT_STARTED: _consumed,
    EventKind.EFFECT_FINISHED: _activity,
    EventKind.EFFECT_FAILED: _activity,
    **dict.fromkeys(_POINTS, _decision_point),
}
KINDS: Final = tuple(_MAKERS)
