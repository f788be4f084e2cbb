"""Calls of a framework as activities: its models, its tools, what its tools want approved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..wire.flow import Flow
from .declared import Approve
from .steps import alone, finish, is_unknown
from .work import Work

Json = dict[str, Any]
ASKED_AT_ONCE = 20  # as many as the API takes


@dataclass(frozen=True)
class PureCall:
    """A call of a model or a tool, at its position; `inputs` names what it is called with.

    It begins at `announced`, where its own node has a name that is not announced.
    """

    node: str
    key: str
    kind: str
    tool: str
    args: Json
    inputs: str = ""
    announced: str = ""

    @property
    def position(self) -> Json:
        """The position that it is recorded at."""
        return {"node": self.announced or self.node, "index": 0, "key": self.key}


@dataclass(frozen=True)
class Proposed:
    """A tool call that people decide on before it happens."""

    tool: str
    key: str
    args: Json
    approve: Approve = field(default_factory=Approve)
    idempotent: bool = False

    @property
    def position(self) -> Json:
        """The position that it is asked about and begun at."""
        return {"node": self.tool, "index": 0, "key": self.key}

    @property
    def query(self) -> Json:
        """The request, as the API takes it."""
        effect = {"tool": self.tool, "args": self.args, "gate": self.gate}
        return {**self.position, "effect": effect}

    @property
    def gate(self) -> Json:
        """The gate before it."""
        return self.approve.gate(self.tool, self.args)


def begin_call(work: Work, call: PureCall) -> Flow[Json]:
    """Ask whether a call is to be made; a finished one is answered from the record."""

    def begin() -> Flow[Json]:
        while True:
            yield from work.boundary(call.node, call.key)
            begun = yield from work.call(
                work.api.begin_call(call.position, call.kind, call.tool, call.args, work.step)
            )
            if begun["do"] in ("call", "answer", "refused"):
                return begun
            yield from work.retake()  # people have to say something: a policy, or a limit

    return (yield from alone(begin()))


def finish_call(work: Work, call: PureCall, result: Any, usage: Json | None) -> Flow[None]:
    """Record what a call answered, as an activity and in the state."""
    yield from alone(_finished(work, call, result, usage))


def _finished(work: Work, call: PureCall, result: Any, usage: Json | None) -> Flow[None]:
    outcome = {"state": "done", "result": result, "args": call.args, "usage": usage}
    yield from work.call(
        work.api.settle_call(call.position, call.kind, call.tool, outcome, work.step)
    )
    yield from _saved(work, call, result)


def _saved(work: Work, call: PureCall, result: Any) -> Flow[None]:
    if call.kind == "model":
        work.undone.clear()  # a framework makes approved calls before it asks its model again
    if work.undone:
        # An approval holds for the step in progress: its call comes before the next commit.
        work.keep(call.key, result, call.inputs)
    else:
        yield from finish(work, call.node, call.key, result, call.inputs)


def fail_call(work: Work, call: PureCall, error: Exception) -> Flow[None]:
    """Record that a call raised."""
    text = f"{type(error).__name__}: {error}"[:2000]
    outcome = {"state": "failed", "error": text, "args": call.args}
    flow = work.api.settle_call(call.position, call.kind, call.tool, outcome, work.step)
    yield from alone(work.call(flow))


def save_call(work: Work, call: PureCall, result: Any) -> Flow[None]:
    """Make an answer that is on record already part of the state."""
    yield from alone(_saved(work, call, result))


def ask_people(work: Work, queries: Sequence[Json]) -> Flow[list[Json]]:
    """Ask people several things together; what they said, in the same order.

    The answers join the state with the next commit: what they allow happens in this very step.
    """

    def ask() -> Flow[list[Json]]:
        answers: list[Json] = []
        for first in range(0, len(queries), ASKED_AT_ONCE):
            some = queries[first : first + ASKED_AT_ONCE]
            yield from work.boundary(some[0]["node"], some[0]["key"])
            while True:
                reply = yield from work.call(work.api.ask_all(some, work.step))
                if reply["do"] == "answer":
                    break
                yield from work.retake()
            answers += reply["answers"]
        return answers

    return (yield from alone(ask()))


def begin_proposed(work: Work, call: Proposed) -> Flow[Json]:
    """Begin what people decided on: `call`, `answer` or `refused`."""
    while True:
        begun = yield from work.call(
            work.api.begin_effect(call.position, call.tool, call.args, call.gate, work.step)
        )
        if begun["do"] in ("call", "answer", "refused"):
            return begun
        yield from work.retake()


def settle_proposed(work: Work, call: Proposed, result: Any, error: str = "") -> Flow[None]:
    """Record that it happened, or, with an error, that it did not."""
    outcome = {"state": "failed", "error": error} if error else {"state": "done", "result": result}
    yield from work.call(work.api.settle_effect(call.position, call.tool, outcome, work.step))


def may_have_happened(work: Work, call: Proposed, error: Exception) -> Flow[bool]:
    """Report that it raised; whether people had to say if it happened, and now have."""
    unknown = yield from is_unknown(
        work, call.tool, call.position, error, idempotent=call.idempotent
    )
    if unknown:
        yield from work.retake()
    return unknown
