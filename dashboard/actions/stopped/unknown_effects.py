"""Effects on which a person decides: what a thread asks, the choices, and the answer.

The answer is an action like all others, offered by the room above.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from checkpoints import queries, store
from checkpoints.errors import AlreadySettled, InvalidValue, NotFound
from checkpoints.state import deltas
from checkpoints.states import Status
from checkpoints.verdicts import MEANING, Question, Verdict, question_of
from checkpoints.views import ActivityRow, ThreadRow
from dashboard.errors import Conflict, Invalid, translated
from dashboard.fields.credentials import check_credentials
from dashboard.fields.shapes import Field
from dashboard.fields.validation import REASON_MAX, check_text
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, refuse_beyond, require
from dashboard.second_person import guarded
from dashboard.wording.sentences import person

RESULT_MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Choice:
    """One possible answer: its word in API and forms, its button, what follows from it."""

    verdict: Verdict
    label: str
    help: str


_LABELS: Final[dict[Verdict, tuple[str, str]]] = {
    Verdict.HAPPENED: ("It happened", "Its result is recorded and the thread continues."),
    Verdict.NOT_HAPPENED: ("It did not", "It is called again with the same key."),
    Verdict.UNDO: ("Undo it", "A worker calls {undo}; then the thread pauses."),
    Verdict.KEEP: ("Keep the outcome", "The recorded result answers for the new arguments."),
    Verdict.UNDO_AGAIN: (
        "Undo and repeat",
        "A worker calls {undo}, then repeats the call with the new arguments.",
    ),
    Verdict.AGAIN: (
        "Do it again",
        "It is called with the new arguments and a new key; if it was already done, a reviewer "
        "approves that first.",
    ),
}


@dataclass(frozen=True, slots=True)
class EffectQuestion:
    """A question of a thread as a page shows it; `fields` are the inputs beside the choices."""

    question: Question
    effect: ActivityRow
    choices: tuple[Choice, ...]
    fields: tuple[Field, ...] = field(default=())

    @property
    def unknown(self) -> bool:
        """True if the question is whether the effect happened, not which arguments to use."""
        return self.question.kind == "unknown"


def effect_question_of(thread: ThreadRow) -> EffectQuestion | None:
    """Read the question about an effect that blocks the thread; None if it asks nothing."""
    question = question_of(thread.status, thread.waiting_on)
    if question is None:
        return None
    try:
        effect = queries.activity(question.activity)
    except NotFound:
        return None
    if effect.thread != thread.id:
        return None
    choices = tuple(
        Choice(verdict, label, text.format(undo=effect.undo))
        for verdict in question.choices(effect.state, effect.undo)
        for label, text in (_LABELS[verdict],)
    )
    return EffectQuestion(question, effect, choices, inputs_of(question))


def inputs_of(
    question: Question,
    *,
    result: str = "null",
    reason: str = "",
    errors: Mapping[str, str] | None = None,
) -> tuple[Field, ...]:
    """The inputs of the form, with the problem of each beside it."""
    wrong = errors or {}
    inputs = []
    if question.kind == "unknown":
        inputs.append(
            Field(
                "f-result",
                "result",
                "json",
                result,
                help="JSON: what the tool would have returned, if it happened",
                error=wrong.get("result", ""),
            )
        )
    inputs.append(
        Field(
            "f-reason",
            "reason",
            "lines",  # Enter in a single line would press the first of the answers
            reason,
            help="kept in the log",
            error=wrong.get("reason", ""),
        )
    )
    return tuple(inputs)


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
