"""What a policy is to say, before it is saved: its shape and its limits; pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas

from ..rules.terms import Seat, Terms
from ..states import RISKS
from . import facts
from .conditions import condition

NAME_MAX: Final = 100
TITLE_MAX: Final = 300
NOTE_MAX: Final = 1_000
STAGES_MAX: Final = 5
PEOPLE_MAX, PERSON_MAX = 50, 150
COUNT_MAX: Final = 20
REMINDERS_MAX: Final = 10
UNDO_MAX: Final = 3_600.0
DAY: Final = 86_400.0
DEADLINE_MAX: Final = 365 * DAY
VALID_MIN, VALID_MAX = 60.0, 30 * DAY
ACTIONS: Final = ("ask", "allow", "block")
ON_EXPIRY: Final = ("expire", "reject", "escalate")


@dataclass(frozen=True, slots=True)
class Draft:
    """The content of a policy version. `deadline`: seconds to decide; None: no limit."""

    name: str
    condition: str
    action: Literal["ask", "allow", "block"] = "ask"
    terms: Terms = field(default_factory=Terms)
    deadline: float | None = None
    risk: str = ""
    title: str = ""
    note: str = ""

    def content(self) -> dict[str, Any]:
        """All of it, as JSON; also what the log binds by its hash."""
        return {
            "name": self.name,
            "condition": self.condition,
            "action": self.action,
            "terms": self.terms.to_json(),
            "deadline": self.deadline,
            "risk": self.risk,
            "title": self.title,
            "note": self.note,
        }


def check(draft: Draft) -> None:
    """Raise InvalidValue with the path of the first value that cannot stand."""
    _text("name", draft.name, NAME_MAX, required=True)
    _text("title", draft.title, TITLE_MAX)
    _text("note", draft.note, NOTE_MAX)
    deltas.check(draft.condition, "condition")
    request = condition(draft.condition)
    _one_of("action", draft.action, ACTIONS)
    if draft.action == "allow" and (claimed := facts.claimed_of(request.names)):
        raise InvalidValue(
            "condition",
            f"uses {claimed[0]!r}, which is only claimed: {facts.reason(claimed[0])}. A policy "
            f"that allows may look at known facts: {', '.join(facts.KNOWN)}",
        )
    _one_of("risk", draft.risk, ("", *RISKS))
    if draft.deadline is not None:
        _between("deadline", draft.deadline, 1, DEADLINE_MAX)
    _check_terms(draft.terms, draft.deadline)
    if request.subject == "operation" and draft.terms.undo_window:
        raise InvalidValue(
            "terms.undo_window", "must be 0 for what people do: it is done with the last approval"
        )


def _check_terms(terms: Terms, deadline: float | None) -> None:
    if not 1 <= len(terms.stages) <= STAGES_MAX:
        raise InvalidValue("terms.stages", f"must be 1 to {STAGES_MAX}")
    for i, seat in enumerate(terms.stages):
        _check_seat(f"terms.stages[{i}]", seat)
    if terms.barred:
        raise InvalidValue("terms.barred", "is found out for each request; set four_eyes")
    _between("terms.undo_window", terms.undo_window, 0, UNDO_MAX)
    _between("terms.valid_for", terms.valid_for, VALID_MIN, VALID_MAX)
    _one_of("terms.on_expiry", terms.on_expiry, ON_EXPIRY)
    if terms.on_expiry != "expire" and deadline is None:
        raise InvalidValue("terms.on_expiry", "needs a deadline")
    if terms.on_expiry == "escalate":
        if terms.escalate_to is None:
            raise InvalidValue("terms.escalate_to", "name who is asked then")
        _check_seat("terms.escalate_to", terms.escalate_to)
        _between("terms.escalate_for", terms.escalate_for, 1, DEADLINE_MAX)
    elif terms.escalate_to is not None or terms.escalate_for:
        path = "terms.escalate_for" if terms.escalate_to is None else "terms.escalate_to"
        raise InvalidValue(path, "goes with on_expiry escalate only")
    if len(terms.reminders) > REMINDERS_MAX:
        raise InvalidValue("terms.reminders", f"has more than {REMINDERS_MAX} times")
    for i, after in enumerate(terms.reminders):
        _between(f"terms.reminders[{i}]", after, 1, deadline or DEADLINE_MAX)
        if i and after <= terms.reminders[i - 1]:
            raise InvalidValue(f"terms.reminders[{i}]", "must be later than the one before")


def _check_seat(path: str, seat: Seat) -> None:
    _between(f"{path}.count", seat.count, 1, COUNT_MAX)
    for name, value in (("people", seat.people), ("teams", seat.teams)):
        if len(value) > PEOPLE_MAX:
            raise InvalidValue(f"{path}.{name}", f"has more than {PEOPLE_MAX} names")
        for i, one in enumerate(value):
            _text(f"{path}.{name}[{i}]", one, PERSON_MAX, required=True)
        if len(set(value)) < len(value):
            raise InvalidValue(f"{path}.{name}", "names somebody twice")
    if seat.people and not seat.teams and len(seat.people) < seat.count:
        raise InvalidValue(f"{path}.count", f"asks for {seat.count} of {len(seat.people)} people")


def _text(path: str, value: str, most: int, *, required: bool = False) -> None:
    deltas.check(value, path)
    if required and not value.strip():
        raise InvalidValue(path, "is empty")
    if len(value) > most:
        raise InvalidValue(path, f"is longer than {most:,} characters")


def _one_of(path: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidValue(path, f"must be one of {', '.join(known).lstrip(', ')}")


def _between(path: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise InvalidValue(path, f"must be from {low:g} to {high:g}")
