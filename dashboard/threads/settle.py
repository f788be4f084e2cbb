"""Settle an effect: the answer of a person to what a thread asks about it."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from checkpoints import queries, store
from checkpoints.errors import AlreadySettled, InvalidValue
from checkpoints.state import deltas
from checkpoints.states import EventKind, Status
from checkpoints.verdicts import MEANING, Verdict
from dashboard.errors import Conflict, Invalid
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, refuse_beyond
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import Id, OneOf, Reason
from dashboard.threads.target import THREAD
from dashboard.threads.thread_shapes import ThreadDetail
from dashboard.wording.sentences import person

RESULT_MAX_BYTES = 1024 * 1024


class Settle(RequestShape):
    """The answer to what a thread asks about one effect."""

    activity: Id = Field(description="The effect: `why_waiting.facts.activity`.")
    verdict: Annotated[str, OneOf(Verdict)] = Field(
        description="`happened` (with `result`), `not_happened` or `undo` for one whose outcome is "
        "unknown; `keep`, `again` or `undo_again` for one that is asked with other arguments."
    )
    result: Any = Field(
        None,
        description="What it answered, if it happened: any JSON, "
        f"at most {RESULT_MAX_BYTES:,} bytes.",
    )
    reason: Reason = ""


def result_given(text: str) -> Any:
    """Parse a typed result; an empty text is null. Raises Invalid with `$.result`."""
    if not text.strip():
        return None
    try:
        return deltas.decode_request(text.encode())
    except InvalidValue as error:
        raise Invalid("$.result", f"is not JSON that can be stored: {error.reason}") from error


def settle(
    actor: Actor, wanted: Settle, thread_id: UUID, *, expected_version: int | None
) -> Status:
    """Answer what a thread asks about one effect; the status it has then.

    Conflict for the second one, with the name and the answer of the first.
    """
    refuse_beyond(queries.thread(thread_id, workspace=actor.workspace), "settle")
    verdict, result = Verdict(wanted.verdict), wanted.result
    if result is not None and verdict != Verdict.HAPPENED:
        raise Invalid("$.result", f"is not taken with the verdict {verdict}")
    if len(deltas.canonical(result)) > RESULT_MAX_BYTES:
        raise Invalid("$.result", f"has more than {RESULT_MAX_BYTES:,} bytes")
    try:
        return store.settle(
            thread_id,
            activity=wanted.activity,
            verdict=verdict,
            actor=actor.id,
            result=result,
            reason=wanted.reason,
            expected_version=expected_version,
        )
    except AlreadySettled as error:
        first = str(error.facts["actor"])
        message = MEANING[Verdict(error.facts["verdict"])]
        raise Conflict(
            f"{person(first, people([first]))} has answered this already: {message}.",
            status=str(error.facts["status"]),
        ) from error


def _settled(_: Settle, status: Status) -> str:
    if status == Status.ROLLING_BACK:
        return "A worker undoes it now."
    return "Answered: it continues as soon as a worker is free."


SETTLE = Action(
    name="thread.settle",
    right="settle",
    target=THREAD,
    versioned=True,
    operation="retry",
    takes=Settle,
    answers=ThreadDetail,
    perform=settle,
    events=(EventKind.EFFECT_SETTLED,),
    summary="Settle an effect whose thread needs attention",
    description="409 when the thread does not ask about this effect, with the first answer "
    "where somebody else gave it. `undo` and `undo_again`: a worker calls the tool's undo.",
    help="settle an effect whose thread needs attention",
    done=_settled,
    examples="threads settle order-17 happened --result '{\"receipt\": 4711}' --reason 'asked'\n"
    "threads settle order-17 not-happened\n"
    "threads settle order-17 undo-again --reason 'wrong account'",
)
