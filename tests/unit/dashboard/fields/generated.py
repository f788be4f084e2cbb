"""Schemas of objects with values by a seed, and a browser's view of a form: what it would send."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from random import Random
from typing import Any

from django.template.loader import render_to_string

from dashboard.fields.shapes import Field

TEXTS = (
    *(
        "a",
        "Ada Lovelace",
        " blank first",
        "blank last ",
        "two\nlines",
        "\nfirst",
        "carriage\rreturn",
    ),
    *(
        "tab\there",
        "\u2028sep",
        "\u202eabc",
        "<b>&amp;\"'",
        "0",
        "null",
        "[]",
        "ä" * 90,
        "👩‍👩‍👧",
        "x\x0by",
    ),
)
DAYS = ("2026-11-30", "0999-01-01", "2024-02-29")
TIMES = (
    *("2026-11-30T09:30:00Z", "2026-11-30T09:30:05+05:45", "2026-11-30T09:30:00.125Z"),
    *("2026-11-30T00:00:00-03:30", "2026-11-30T09:30:00.000+00:00"),
)
NAMES = ("note", "to", "cc", "a b", "f-x", "e-x", "z-x", "x", "ünï", "amount", "when", "día", "ok")


@dataclass(frozen=True)
class Kind:
    """A part of a schema, the values that it allows, and how a person writes each."""

    part: dict[str, Any]
    values: tuple[Any, ...]


def _kinds(pick: Random) -> list[Kind]:
    low = pick.randrange(-5, 5)
    options = pick.sample(("low", "high", "with, comma", "a/b", "yes", "0"), k=3)
    return [
        Kind({"type": "string"}, ("", *TEXTS)),
        Kind({"type": "string", "minLength": 1}, TEXTS),
        Kind({"type": "string", "maxLength": 400}, ("", *TEXTS)),
        Kind({"type": "string", "format": "date"}, DAYS),
        Kind({"type": "string", "format": "date-time"}, TIMES),
        Kind({"type": "integer", "minimum": low}, (low, low + 1, 2**53, 0 if low <= 0 else low)),
        Kind({"type": "number"}, (0, 1, 0.1, -2.5, 1e-7, 123456.75, 2.0)),
        Kind({"type": "boolean"}, (True, False)),
        Kind({"enum": options}, tuple(options)),
        Kind({"enum": ["", *options]}, ("", *options)),
        Kind({"enum": [1, "1", True, None]}, (1, "1", True, None)),
        Kind({"const": "v1"}, ("v1",)),
        Kind({"oneOf": [{"const": 1, "title": "One"}, {"const": 2, "title": "Two"}]}, (1, 2)),
        Kind(
            {"type": "array", "items": {"type": "string"}}, ([], ["a", "b"], [" a"], [""], ["x\ny"])
        ),
        Kind({"type": "array", "items": {"type": "integer"}}, ([], [1, 2], [0])),
        Kind({"type": "object"}, ({}, {"a": None}, {"a": "", "b": []})),
        Kind({}, (None, "", [], {}, 0, False, "x")),
        Kind(True, (None, 1, "x")),  # type: ignore[arg-type]
    ]


def generated(seed: int) -> tuple[dict[str, Any], dict[str, tuple[Any, ...]]]:
    """(the schema of an object, {member: the values that it allows}); the same for one seed."""
    pick = Random(seed)
    names = pick.sample(NAMES, k=pick.randrange(1, 6))
    properties: dict[str, Any] = {}
    allowed: dict[str, tuple[Any, ...]] = {}
    for name in names:
        kind = pick.choice(_kinds(pick))
        part, values = kind.part, kind.values
        if pick.random() < 0.4 and isinstance(part, dict) and part:
            part, values = {"anyOf": [part, {"type": "null"}]}, (*values, None)
        if pick.random() < 0.2 and isinstance(part, dict):
            part = part | {"default": pick.choice(values)}
        properties[name], allowed[name] = part, values
    order = pick.sample(names, k=len(names))
    required = [name for name in names if pick.random() < 0.5]
    schema = {"type": "object", "properties": properties, "required": required, "x-order": order}
    return schema, allowed


def some_values(seed: int, schema: dict[str, Any], allowed: dict[str, Any]) -> dict[str, Any]:
    """An object that the schema allows; members that it does not require are there or not."""
    pick = Random(seed + 1)
    required = schema["required"]
    return {
        name: pick.choice(values)
        for name, values in allowed.items()
        if name in required or pick.random() < 0.6
    }


class _Inputs(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sent: dict[str, str] = {}
        self.options: dict[str, list[str]] = {}
        self.required: set[str] = set()
        self.order: list[str] = []
        self._select = self._textarea = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {key: value or "" for key, value in attrs}
        name = named.get("name", "")
        if name:
            self.order.append(name)
            if "required" in named:
                self.required.add(name)
        if tag == "input":
            text = named.get("value", "")
            line = text.replace("\r", "").replace("\n", "")
            if named.get("type") == "datetime-local":
                line = line.removesuffix(":00") if len(line) == 19 else line
            self.sent[name] = line
        elif tag == "textarea":
            self._textarea, self.sent[name] = name, ""
        elif tag == "select":
            self._select, self.options[name] = name, []
        elif tag == "option" and self._select:
            self.options[self._select].append(named["value"])
            # A browser chooses the first one until another is marked.
            if "selected" in named or self._select not in self.sent:
                self.sent[self._select] = named["value"]

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.sent[self._textarea] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            text = self.sent[self._textarea].replace("\r\n", "\n").replace("\r", "\n")
            self.sent[self._textarea] = text.removeprefix("\n").replace("\n", "\r\n")
            self._textarea = ""
        elif tag == "select":
            self._select = ""


def opened(fields: list[Field]) -> _Inputs:
    """The form as a browser without scripts has it: what it would send, untouched."""
    inputs = _Inputs()
    for field in fields:
        inputs.feed(render_to_string("components/field.html", {"field": field}))
    inputs.close()
    return inputs
