"""The question of a thread about one effect: its choices and the inputs beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from checkpoints import queries
from checkpoints.errors import NotFound
from checkpoints.verdicts import Question, Verdict, question_of
from checkpoints.views import ActivityRow, ThreadRow
from dashboard.fields.shapes import Field


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
