"""What an agent's code asks for: a step, an effect, an answer of people, their messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, TypeVar, cast

from ..wire.errors import ClientError
from ..wire.flow import Call, Enter, Flow, Leave
from .declared import Effect, named
from .outcomes import is_open
from .values import digest, outcome_of, recordable
from .work import Work

T = TypeVar("T")
Json = dict[str, Any]
QUESTION = "ask"
MESSAGES = "messages"


def perform_step(
    work: Work, name: str, function: Callable[..., Any], args: Any, kwargs: Any
) -> Flow[Any]:
    """Call a function once: a finished call with the same arguments answers from the record."""
    key = work.name_call(name)
    inputs = digest(recordable(named(function, args, kwargs), f"What {name!r} is called with"))
    if work.is_recorded(key) and work.inputs(key) in ("", inputs):
        return work.answer(key)
    yield from alone(work.boundary(name, key))
    if work.now.get("policies_ask"):
        return (yield from _perform_asked(work, name, key, function, args, kwargs))
    result = recordable((yield Call(function, args, kwargs)), f"What {name!r} returned")
    yield from alone(finish(work, name, key, result, inputs))
    return result


def _perform_asked(
    work: Work, name: str, key: str, function: Callable[..., Any], args: Any, kwargs: Any
) -> Flow[Any]:
    """A step of a workspace with policies: one of them may hold it as it holds an effect."""
    value: Json = recordable(named(function, args, kwargs), f"What {name!r} is called with")
    position = {"node": name, "index": 0, "key": key}

    def begin() -> Flow[Json]:
        while True:
            begun = yield from work.call(
                work.api.begin_call(position, "activity", name, value, work.step)
            )
            if begun["do"] in ("call", "answer", "refused"):
                return begun
            yield from work.retake()

    work.refuse_again(key)
    begun = yield from alone(begin())
    if begun["do"] == "refused":
        raise work.refused(key, {**begun, "comment": begun["reason"]}, expired=not begun["by"])
    result = begun["result"]
    if begun["do"] == "call":
        decided = begun["args"]
        call = Call(function, args, kwargs) if decided == value else Call(function, (), decided)
        result = yield from _called(work, position, call, value)
    yield from alone(finish(work, name, key, result, digest(value)))
    return result


def _called(work: Work, position: Json, call: Call, value: Json) -> Flow[Any]:
    """Call a step, and record its outcome."""
    name, settle = position["node"], work.api.settle_call
    try:
        result = recordable((yield call), f"What {name!r} returned")
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:2000]
        outcome = {"state": "failed", "error": text, "args": value}
        yield from alone(work.call(settle(position, "activity", name, outcome, work.step)))
        raise
    outcome = {"state": "done", "result": result, "args": value}
    yield from alone(work.call(settle(position, "activity", name, outcome, work.step)))
    return result


def alone(flow: Flow[T]) -> Flow[T]:
    """Perform a flow while no other one of this work is at such a place."""
    yield Enter()
    try:
        return (yield from flow)
    finally:
        yield Leave()


def finish(work: Work, node: str, key: str, result: Any, inputs: str = "") -> Flow[None]:
    """Commit what a call answered, under its name."""
    merge: Json = {"steps": {key: result}}
    if inputs:
        merge["step_inputs"] = {key: inputs}
    yield from work.commit(node, {"merge": merge})


def perform_effect(work: Work, effect: Effect, args: Any, kwargs: Any) -> Flow[Any]:
    """Make an effect once: behind its gate, with the decided arguments, its outcome reported.

    Raises Rejected or Expired when people refusal no or nothing.
    """
    key = work.name_call(effect.name)
    what = f"What {effect.name!r} is called with"
    value: Json = recordable(named(effect.function, args, kwargs), what)
    inputs = digest(value)
    if work.is_recorded(key):
        if work.inputs(key) not in ("", inputs):
            raise ClientError(
                f"{key!r} was made with other arguments. To make it again, roll the thread back "
                "or fork it before that step."
            )
        return work.answer(key)
    work.refuse_again(key)

    def make() -> Flow[Any]:
        yield from work.boundary(effect.name, key)
        result = yield from _make(work, effect, key, value)
        yield from finish(work, effect.name, key, result, inputs)
        return result

    return (yield from alone(make()))


def _make(work: Work, effect: Effect, key: str, value: Json) -> Flow[Any]:
    position = {"node": effect.name, "index": 0, "key": key}
    gate = effect.approve.gate(effect.name, value) if effect.approve else None
    while True:
        begun = yield from work.call(
            work.api.begin_effect(position, effect.name, value, gate, work.step)
        )
        if begun["do"] == "answer":
            return begun["result"]
        if begun["do"] == "refused":
            refusal = {**begun, "comment": begun["reason"]}
            raise work.refused(key, refusal, expired=not begun["by"])  # nobody decided
        if begun["do"] == "call":
            try:
                returned = yield Call(effect.function, (), _with_key(effect, begun))
            except Exception as error:
                if not (
                    yield from is_unknown(
                        work, effect.name, position, error, idempotent=effect.idempotent
                    )
                ):
                    raise
            else:
                outcome, withheld = outcome_of(returned, f"What {effect.name!r} returned")
                settled = work.api.settle_effect(position, effect.name, outcome, work.step)
                yield from work.call(settled)
                if withheld is not None:
                    raise withheld
                return outcome["result"]
        # The lease is gone while people decide.
        yield from work.retake()


def _with_key(effect: Effect, begun: Json) -> Json:
    takes_key = "key" in signature(effect.function).parameters
    return {**begun["args"], **({"key": begun["idempotency_key"]} if takes_key else {})}


def is_unknown(
    work: Work, tool: str, position: Json, error: Exception, *, idempotent: bool
) -> Flow[bool]:
    """Report an effect that raised; whether people have to say if it happened."""
    unknown = not idempotent and is_open(error)
    text = f"{type(error).__name__}: {error}"[:2000]
    outcome = {"state": "unknown" if unknown else "failed", "error": text}
    yield from work.call(work.api.settle_effect(position, tool, outcome, work.step))
    return unknown


def perform_question(work: Work, question: Mapping[str, Any]) -> Flow[Any]:
    """Ask people; the answer is recorded and given again when the agent begins again."""
    key = work.name_call(QUESTION)
    if work.is_recorded(key):
        return work.answer(key)
    work.refuse_again(key)
    position = {"node": QUESTION, "index": 0, "key": key}

    def ask() -> Flow[Any]:
        yield from work.boundary(QUESTION, key)
        while True:
            answers = yield from work.call(work.api.ask(position, question, work.step))
            if answers["do"] == "answer":
                break
            yield from work.retake()
        (answer,) = answers["answers"]
        if answer["state"] != "answered":
            raise work.refused(key, answer, expired=answer["state"] == "expired")
        yield from finish(work, QUESTION, key, answer["answer"])
        return answer["answer"]

    return (yield from alone(ask()))


def take_messages(work: Work, wait: float = 0) -> Flow[list[Any]]:
    """Take what people have sent since the last call, and record it like a step.

    Waits this number of seconds where there is nothing yet.
    """
    key = work.name_call(MESSAGES)
    if work.is_recorded(key):
        return cast("list[Any]", work.answer(key))
    if work.has_later(MESSAGES):
        return []  # as it was when the later ones were taken

    def take() -> Flow[list[Any]]:
        yield from work.boundary(MESSAGES, key)
        news = yield from work.read_messages(wait)
        values = [one["message"] for one in news]
        if news:
            taken = [int(one["seq"]) for one in news]
            yield from work.commit(MESSAGES, {"merge": {"steps": {key: values}}}, taken)
        return values

    return (yield from alone(take()))
