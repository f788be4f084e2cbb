"""Effects on which a person decides: what a thread asks, the choices, and the answer.

The answer is an action like all others, offered by the room above.
"""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from checkpoints import queries, store
from checkpoints.errors import AlreadySettled, InvalidValue
from checkpoints.state import deltas
from checkpoints.states import Status
from checkpoints.verdicts import MEANING, Verdict
from dashboard.api.shapes.requests import RequestShape
from dashboard.api.shapes.texts import Id, OneOf, Reason
from dashboard.errors import Conflict, Invalid, translated
from dashboard.fields.credentials import check_credentials
from dashboard.fields.validation import (
    REASON_MAX,
    check_text,
)
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, refuse_beyond, require
from dashboard.second_person import guarded
from dashboard.wording.sentences import person

RESULT_MAX_BYTES = 1024 * 1024


def result_given(text: str) -> Any:
    """Parse a typed result; an empty text is null. Raises Invalid with `$.result`."""
    if not text.strip():
        return None
    try:
        return deltas.decode_request(text.encode())
    except InvalidValue as error:
        raise Invalid("$.result", f"is not JSON that can be stored: {error.reason}") from error


@guarded("retry")
@translated()
def settle(
    actor: Actor,
    thread_id: UUID,
    activity: UUID,
    verdict: str,
    result: Any = None,
    reason: str = "",
    *,
    expected_version: int | None = None,
) -> Status:
    """Answer what a thread asks about one effect; the status it has then.

    `result` is recorded where the verdict is that it happened, and refused with any other.
    Conflict for the second one, with the name and the answer of the first.
    """
    require(actor, "settle")
    refuse_beyond(queries.thread(thread_id, workspace=actor.workspace), "settle")
    check_text("$.reason", reason, REASON_MAX)
    if verdict not in list(Verdict):
        raise Invalid("$.verdict", f"must be one of {', '.join(Verdict)}")
    if result is not None and verdict != Verdict.HAPPENED:
        raise Invalid("$.result", f"is not taken with the verdict {verdict}")
    deltas.check(result, "$.result")
    if len(deltas.canonical(result)) > RESULT_MAX_BYTES:
        raise Invalid("$.result", f"has more than {RESULT_MAX_BYTES:,} bytes")
    check_credentials("$.result", result)
    try:
        return store.settle(
            thread_id,
            activity=activity,
            verdict=Verdict(verdict),
            actor=actor.id,
            result=result,
            reason=reason,
            expected_version=expected_version,
        )
    except AlreadySettled as error:
        first = str(error.facts["actor"])
        message = MEANING[Verdict(error.facts["verdict"])]
        raise Conflict(
            f"{person(first, people([first]))} has answered this already: {message}.",
            status=str(error.facts["status"]),
        ) from error


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
