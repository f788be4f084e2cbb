"""Calls of a framework's models and tools, each made once: as activities and as effects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from .current import Current, part, settle
from .record import calls
from .record.values import outcome_of, recordable
from .wire.errors import ClientError

Json = dict[str, Any]


@dataclass(frozen=True)
class Made:
    """An approved call that was made, for framework and record; with an `error` it failed."""

    answer: Any
    result: Any
    error: str = ""


async def once(
    scope: Current,
    call: calls.PureCall,
    body: Callable[[], Awaitable[Any]],
    *,
    edited: Callable[[Json], Awaitable[Any]] | None = None,
    refused: Callable[[str], Any] | None = None,
    usage: Callable[[Any], Json] | None = None,
    is_deferred: Callable[[Any], bool] = lambda returned: False,
) -> tuple[Any, bool]:
    """(what a call answers, whether it was made now); a finished one answers from the record.

    What `is_deferred` is not recorded: the call is made later. A policy may hold the call: `edited`
    makes it with the arguments that people decided on, `refused` turns a refusal into an answer.
    """
    work = scope.work
    if work.is_recorded(call.key) and work.inputs(call.key) in ("", call.inputs):
        return work.answer(call.key), False
    begun = await settle(scope, calls.begin_call(work, call))
    if begun["do"] == "answer":
        await settle(scope, calls.save_call(work, call, begun["result"]))
        return begun["result"], False
    if begun["do"] == "refused":
        if refused is None:
            verdict = {**begun, "comment": begun["reason"]}
            raise work.refused(call.key, verdict, expired=not begun["by"])
        answer = refused(begun["reason"] or "A reviewer rejected this call.")
        await settle(scope, calls.save_call(work, call, answer))
        return answer, False
    decided = begun.get("args", call.args)

    async def perform() -> Any:
        if decided == call.args:
            return await body()
        if edited is None:
            raise ClientError("It was to be called with other arguments than people decided on.")
        return await edited(decided)

    try:
        returned = await part(scope, call.node, perform)()
        if is_deferred(returned):
            return returned, True
        result = recordable(returned, f"What {call.node!r} answered")
    except Exception as error:
        await settle(scope, calls.fail_call(work, call, error))
        raise
    spent = usage(result) if usage is not None else None
    await settle(scope, calls.finish_call(work, call, result, spent))
    return result, True


async def make_approved(
    scope: Current,
    proposed: calls.Proposed,
    args: Json,
    body: Callable[[str], Awaitable[Made]],
    *,
    recorded: Callable[[Any], Any],
    refused: Callable[[str], Any],
) -> tuple[Any, bool]:
    """(the framework's answer, whether the call was made now): once, with the decided arguments.

    `args` are those that it would be called with, `body` takes the idempotency key, `recorded` and
    `refused` turn a recorded result and a refusal into an answer.
    """
    work, key = scope.work, proposed.key
    if work.is_recorded(key):
        return work.answer(key), False
    answer, is_new = await _approved(scope, proposed, args, body, recorded, refused)
    work.undone.discard(key)
    work.keep(key, answer)
    return answer, is_new


async def _approved(
    scope: Current,
    proposed: calls.Proposed,
    args: Json,
    body: Callable[[str], Awaitable[Made]],
    recorded: Callable[[Any], Any],
    refused: Callable[[str], Any],
) -> tuple[Any, bool]:
    while True:
        begun = await settle(scope, calls.begin_proposed(scope.work, proposed))
        if begun["do"] == "refused":
            return refused(begun["reason"] or "A reviewer rejected this call."), False
        if begun["do"] == "answer":
            return recorded(begun["result"]), False
        if begun["args"] != args:
            why = "It was to be called with other arguments than people decided on."
            await settle(scope, calls.settle_proposed(scope.work, proposed, None, why))
            raise ClientError(why)
        try:
            made = await part(scope, proposed.tool, body)(begun["idempotency_key"])
        except Exception as error:
            if not await settle(scope, calls.may_have_happened(scope.work, proposed, error)):
                raise
            continue  # people have said whether it happened
        both = {"answer": made.answer, "result": made.result}
        outcome, refusal = outcome_of(both, f"What {proposed.tool!r} returned")
        if refusal is not None:
            withheld = calls.settle_proposed(scope.work, proposed, outcome["result"], made.error)
            await settle(scope, withheld)
            raise refusal
        answer, result = outcome["result"]["answer"], outcome["result"]["result"]
        await settle(scope, calls.settle_proposed(scope.work, proposed, result, made.error))
        return answer, True
