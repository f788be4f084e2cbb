"""Tags of the forms: what has to be fixed, each thing counted once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import template

register = template.Library()

# Inputs of no channel that show their own message: tests/unit/dashboard/fields/test_form_faults.py.
BESIDE = frozenset(
    {
        *("config", "known", "undo_unknown", "comment", "args"),
        *("whole_state", "output", "budget_cost", "budget_tokens", "budget_steps"),
    }
)


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of a form: `links` are (input id, label), `whole` belongs to no input."""

    links: list[tuple[str, str]]
    whole: list[str]

    @property
    def total(self) -> int:
        """The number of faults."""
        return len(self.links) + len(self.whole)


@register.simple_tag
def form_faults(
    fields: Iterable[Any], declared: Mapping[str, Any], errors: Mapping[str, str] | None
) -> Faults:
    """Each fault of a form once: those with an input by its label, all others by their sentence."""
    inputs = [*(fields or ()), *(declared or {}).values()]
    channels = {field.channel for field in inputs}
    rest = {key: text for key, text in (errors or {}).items() if text and key not in channels}
    links = [(field.name, field.label) for field in inputs if field.error]
    links += [(key, key.replace("_", " ").capitalize()) for key in rest if key in BESIDE]
    return Faults(links, [text for key, text in rest.items() if key not in BESIDE])
