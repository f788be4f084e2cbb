"""The form in which an admin writes a policy: plain inputs on one side, a draft on the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.forms.boundfield import BoundField

from approvals.policies.preview import TriedRow
from approvals.policies.queries import VersionRow
from approvals.rules.terms import Seat, Terms
from approvals.states import RISKS
from dashboard.administration.policy_calls import PolicyDraft
from dashboard.errors import Invalid
from dashboard.kit.action import read
from dashboard.wording.text import number

MINUTE, HOUR = 60.0, 3600.0
ANYBODY: Final = "1 of any reviewer"
_LINE: Final = re.compile(r"\s*(\d{1,3})\s+of\s+(.+?)\s*", re.IGNORECASE)
_TEAM: Final = "team:"
# Which input a refused value was written in.
_INPUTS: Final = {
    "terms.stages": "stages",
    "terms.escalate_to": "escalate_to",
    "terms.escalate_for": "escalate_for",
    "terms.reminders": "reminders",
    "terms.on_expiry": "on_expiry",
    "terms.undo_window": "undo_window",
    "terms.valid_for": "valid_for",
    "number": "name",
}


@dataclass(frozen=True, slots=True)
class Section:
    """Fields of the form that belong together; those in `wide` take the whole width."""

    heading: str
    about: str
    names: tuple[str, ...]
    wide: tuple[str, ...] = ()


SECTIONS: Final = (
    Section(
        "When it applies",
        "A policy that blocks decides first, wherever it stands; then the first in the list whose "
        "condition holds. Examples fill the condition.",
        ("name", "action", "condition"),
        ("condition",),
    ),
    Section(
        "Who approves",
        "Stages are asked one after the other; each needs the number of approvals it names. A "
        "policy that blocks asks them only where it is unknown whether it matches.",
        ("stages", "note", "title", "risk", "four_eyes"),
        ("four_eyes",),
    ),
    Section(
        "If nobody decides",
        "Reminders go to the people who still have to decide.",
        ("deadline", "on_expiry", "escalate_to", "escalate_for", "reminders"),
    ),
    Section("After the decision", "", ("undo_window", "valid_for")),
)
# A person can take back a slip of the thumb; calls and commands say what they want by themselves.
UNDO_SECONDS: Final = 10


class PolicyForm(forms.Form):
    """One version of a policy."""

    def sections(self) -> Iterator[tuple[Section, list[BoundField]]]:
        """The fields of each section, in order."""
        for one in SECTIONS:
            yield one, [self[name] for name in one.names]

    name = forms.CharField(max_length=100, help_text="The name shown in requests and the log.")
    condition = forms.CharField(
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="When it holds, in CEL. "
        "Money is text: compare it by amount(args.total) > 1000, and {amount, currency} by "
        "money(args.total, 'EUR') > 1000. If a value is missing, a policy that asks counts as met, "
        "and one that blocks asks people.",
    )
    action = forms.ChoiceField(
        choices=[("ask", "Ask people"), ("allow", "Allow it and log it"), ("block", "Block it")],
        help_text="“Allow” asks nobody. “Block” refuses it and asks nobody; the agent learns why.",
    )
    note = forms.CharField(
        label="Why",
        required=False,
        max_length=1_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Why approval is needed, or why it is blocked. Reviewers and agents read it.",
    )
    stages = forms.CharField(
        label="Stages",
        initial=ANYBODY,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="One stage per line: “1 of any reviewer”, “2 of ada, ben, team:Treasury”.",
    )
    four_eyes = forms.BooleanField(
        required=False,
        help_text="People who started, forked or edited the thread can’t approve.",
    )
    risk = forms.ChoiceField(
        required=False,
        choices=[
            ("", "As the author set it"),
            *((risk, risk.capitalize()) for risk in RISKS),
        ],
    )
    title = forms.CharField(
        required=False, max_length=300, help_text="Leave empty to keep the agent author’s title."
    )
    deadline = forms.FloatField(
        label="Deadline, in minutes",
        required=False,
        min_value=0.05,
        help_text="Leave empty for no deadline.",
    )
    on_expiry = forms.ChoiceField(
        label="After the deadline",
        choices=[
            ("expire", "It expires; the agent learns that nobody decided"),
            ("reject", "It counts as rejected"),
            ("escalate", "Others are asked as well"),
        ],
    )
    escalate_to = forms.CharField(
        label="Who is asked then", required=False, help_text="Such as “1 of carla”."
    )
    escalate_for = forms.FloatField(label="Minutes they have", required=False, min_value=0)
    reminders = forms.CharField(
        label="Reminders, in minutes after the request",
        required=False,
        help_text="Such as “30, 60”.",
    )
    undo_window = forms.FloatField(
        label="Undo window, in seconds",
        initial=UNDO_SECONDS,
        min_value=0,
        help_text="How long a decision can be undone before it takes effect. 0: not at all.",
    )
    valid_for = forms.FloatField(
        label="Valid for, in hours",
        initial=24,
        min_value=0.02,
        help_text="How long an approval can be used.",
    )

    def draft(self) -> PolicyDraft:
        """Read the policy from the form; raises Invalid."""
        value = self.cleaned_data
        to = value["escalate_to"].strip()
        return read(
            PolicyDraft,
            {
                **{k: value[k] for k in ("name", "condition", "action", "note", "risk", "title")},
                "deadline": None if value["deadline"] is None else value["deadline"] * MINUTE,
                "terms": {
                    "stages": _stages(value["stages"]),
                    "four_eyes": value["four_eyes"],
                    "undo_window": value["undo_window"],
                    "valid_for": value["valid_for"] * HOUR,
                    "on_expiry": value["on_expiry"],
                    "escalate_to": _seat(to, "$.terms.escalate_to") if to else None,
                    "escalate_for": (value["escalate_for"] or 0) * MINUTE,
                    "reminders": _minutes(value["reminders"]),
                },
            },
        )

    def refuse(self, error: Invalid) -> None:
        """Show what was refused beside the input that it was written in."""
        for fault in error.faults:
            path = fault.path.removeprefix("$.").removeprefix("draft.")
            known = next((i for p, i in _INPUTS.items() if path.startswith(p)), path)
            at = known if known in self.fields else None
            self.add_error(at, fault.message if at else f"{fault.path}: {fault.message}")


def form_of(row: VersionRow) -> dict[str, Any]:
    """The inputs for what a policy says now."""
    terms = row.terms
    return {
        "name": row.name,
        "condition": row.condition,
        "action": row.action,
        "note": row.note,
        "stages": "\n".join(seat_line(seat) for seat in terms.stages),
        "four_eyes": terms.four_eyes,
        "risk": row.risk,
        "title": row.title,
        "deadline": None if row.deadline is None else _short(row.deadline / MINUTE),
        "on_expiry": terms.on_expiry,
        "escalate_to": seat_line(terms.escalate_to) if terms.escalate_to else "",
        "escalate_for": _short(terms.escalate_for / MINUTE) if terms.escalate_for else None,
        "reminders": ", ".join(f"{_short(after / MINUTE)}" for after in terms.reminders),
        "undo_window": _short(terms.undo_window),
        "valid_for": _short(terms.valid_for / HOUR),
    }


def seat_line(seat: Seat) -> str:
    """A seat in the words of the form."""
    names = [*seat.people, *(f"{_TEAM}{team}" for team in seat.teams)]
    return f"{seat.count} of {', '.join(names) or 'any reviewer'}"


def as_form(row: VersionRow) -> dict[str, str]:
    """Format a version's values by heading, for comparing two of them."""
    shown = {k: v for k, v in form_of(row).items() if k != "name"}
    return {name.replace("_", " "): _in_words(value) for name, value in shown.items()}


def differences(newer: VersionRow, older: VersionRow | None) -> list[tuple[str, str, str]]:
    """(heading, before, after) of what a version changed; of the first one everything it says."""
    now = as_form(newer)
    then: Mapping[str, str] = {} if older is None else as_form(older)
    plain = default_values() if older is None else then
    return [(k, then.get(k, ""), v) for k, v in now.items() if plain.get(k, "") != v]


def default_values() -> dict[str, str]:
    """The form's default values, by heading."""
    plain = Terms()
    return {
        "stages": seat_line(plain.stages[0]),
        "four eyes": "no",
        "on expiry": plain.on_expiry,
        "undo window": "0",
        "valid for": "24",
    }


def would_have(tried: TriedRow, action: str) -> str:
    """Say what a policy with this action would have done to past actions, without a full stop."""
    n_matched, looked_at = len(tried.matched), number(tried.looked_at)
    if action != "block":
        return f"Would have matched {number(n_matched) if n_matched else 'none'} of {looked_at}"
    n_asked = sum(bool(one.problem) for one in tried.matched)
    n_blocked = n_matched - n_asked
    unanswered = f", and asked people about {number(n_asked)}" if n_asked else ""
    blocked = number(n_blocked) if n_blocked else "none"
    return f"Would have blocked {blocked} of {looked_at}{unanswered}"


def _stages(text: str) -> list[dict[str, Any]]:
    lines = [line for line in text.splitlines() if line.strip()]
    return [_seat(line, f"$.terms.stages[{i}]") for i, line in enumerate(lines)]


def _seat(line: str, path: str) -> dict[str, Any]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise Invalid(path, f"cannot be read: {line[:80]!r}; write “2 of ada, ben, team:Treasury”")
    names = [name.strip() for name in match[2].split(",")]
    if len(names) == 1 and names[0].lower() in ("any", "any reviewer", "anybody"):
        names = []
    return {
        "count": int(match[1]),
        "people": [name for name in names if not name.startswith(_TEAM)],
        "teams": [name.removeprefix(_TEAM).strip() for name in names if name.startswith(_TEAM)],
    }


def _minutes(text: str) -> list[float]:
    try:
        return [float(part) * MINUTE for part in re.split(r"[,\s]+", text.strip()) if part]
    except ValueError as error:
        raise Invalid("$.terms.reminders", "takes minutes such as “30, 60”") from error


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _short(number: float) -> str:
    return f"{number:.10g}"
