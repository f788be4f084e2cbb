"""Posted forms over a state: it comes by fields or as JSON; and the budget of a fork."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest

from checkpoints.errors import InvalidValue
from checkpoints.log import fork_budgets
from checkpoints.state import deltas
from dashboard.fields import form as fields
from dashboard.fields import state_text
from dashboard.fields.typed_values import without_thousands
from dashboard.identity.permissions import Actor
from dashboard.kit.pages import forms

STORED: Final = "stored-"  # files that a preview has stored already, by channel
BY_FIELDS, BY_JSON = "fields", "json"
STATE: Final = "whole_state"


@dataclass(frozen=True, slots=True)
class Budget:
    """The inputs of a budget, as typed."""

    cost: str = ""
    tokens: str = ""
    steps: str = ""

    @classmethod
    def of(cls, request: HttpRequest) -> Budget:
        """The texts that were posted."""
        names = fork_budgets.LIMITS
        return cls(*(request.POST.get(f"budget_{name}", "").strip() for name in names))

    def read(self) -> tuple[dict[str, Any], dict[str, str]]:
        """({limit: value}, {input: problem})."""
        limits: dict[str, Any] = {}
        problems: dict[str, str] = {}
        for name in fork_budgets.LIMITS:
            text = without_thousands(getattr(self, name).removeprefix("$"))
            if not text:
                continue
            is_number = name != "cost" and text.isascii() and text.isdecimal() and len(text) < 16
            value = int(text) if is_number else text
            try:
                limits |= fork_budgets.checked({name: value})
            except InvalidValue as error:
                problems[f"budget_{name}"] = f"This {error.reason}."
        return limits, problems


@dataclass(frozen=True, slots=True)
class StateForm:
    """The state as typed: `by` says which of fields and JSON counts, `text` is the JSON."""

    by: str
    text: str

    @classmethod
    def of(
        cls, request: HttpRequest, schema: Mapping[str, Any], values: Mapping[str, Any]
    ) -> StateForm:
        """The posted texts, else the state as it is."""
        by = BY_JSON if request.POST.get("by") == BY_JSON else BY_FIELDS
        text = request.POST.get(STATE)
        return cls(by, state_text.state_text(schema, values) if text is None else text)

    def changes(
        self,
        request: HttpRequest,
        who: Actor,
        schema: Mapping[str, Any],
        values: Mapping[str, Any],
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """({channel: new value}, {input: problem}) of the one that counts."""
        if self.by == BY_JSON:
            try:
                return state_text.changes_of(self.text, schema, values), {}
            except fields.Unreadable as error:
                return {}, {STATE: str(error)}
        changes, problems = forms.read(request, who, schema, values)
        for channel in forms.editable(schema):
            if (file := request.POST.get(STORED + channel)) and channel not in changes:
                try:
                    changes[channel] = fields.from_json(file)
                except fields.Unreadable as error:
                    problems[channel] = str(error)
        return changes, problems

    def stored(self, request: HttpRequest, changes: Mapping[str, Any]) -> dict[str, str]:
        """{input: JSON} of the files among the changes: a form that comes back holds none."""
        return {
            STORED + channel: json.dumps(value)
            for channel, value in changes.items()
            if request.FILES.get(f"f-{channel}") or request.POST.get(STORED + channel)
        }

    def refused(
        self, problems: dict[str, str], schema: Mapping[str, Any], changes: Mapping[str, Any]
    ) -> dict[str, str]:
        """Problems where this form shows them: of JSON those of channels stand at its lines."""
        if self.by != BY_JSON:
            return problems
        channels = {*(schema.get("properties") or ()), *changes}
        own = {name: words for name, words in problems.items() if name in channels}
        rest = {name: words for name, words in problems.items() if name not in channels}
        return rest | ({STATE: state_text.at_lines(self.text, own)} if own else {})


def digest_of(*parts: Any) -> str:
    """A name for what a preview showed: another one is shown before anything else is done."""
    return hashlib.sha256(deltas.canonical(list(parts))).hexdigest()[:32]
