"""Forms made from a JSON Schema: to inputs and back to values. The one home of all forms.

Start, edit, answer, fork, the edit of a request and the dialogs of actions: `build` makes the
inputs, `parse` reads what was posted. Each top-level channel is one input named `f-<channel>`; what
an empty one means is `e-<channel>`, the zone of a time `z-<channel>`. A list of flat objects is a
table of inputs, other objects and lists are edited as JSON. A value is judged by its own part of
the schema, so that a refusal stands beside its field.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from .inputs import (
    ABSENT,
    NULL,
    OMITTED,
    READINGS,
    UNANSWERED,
    ZONES,
    Member,
    Posted,
    Unreadable,
    from_json,
    from_text,
    member,
    same_text,
    syntax_fault,
    to_text,
)
from .shapes import Field, Option
from .tables import MARK, columns_of, names_of, read_rows, rows_of

__all__ = [
    "ABSENT",
    "Unreadable",
    "build",
    "channel_of",
    "channels",
    "from_json",
    "from_text",
    "parse",
    "same_text",
    "syntax_fault",
    "to_text",
    "touched",
    "without_absent",
]

PREFIX: Final = "f-"
ZONE: Final = "z-"
READING: Final = "e-"
ENCRYPTED: Final = "encrypted; leave empty to keep the value"


def channel_of(name: str) -> str:
    """The channel that an input of this name writes."""
    if cell := re.match(r"(?:t-\d+|d)-\d+-", name):
        return name[cell.end() :]
    return name[2:] if name[:2] in (PREFIX, ZONE, READING) else name


def build(
    schema: Mapping[str, Any],
    values: Mapping[str, Any],
    *,
    posted: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    compare: bool = True,
    omittable: bool = False,
    prefix: str = PREFIX,
    asks: bool = True,
) -> list[Field]:
    """Inputs for the channels of `schema`, filled with `values` or with what was `posted`.

    `only` limits the channels; `compare` notes what a changed value was before; `errors` maps
    channel to message. `omittable`: what the schema does not require may be left out. Unless the
    form `asks`, an input that is cleared means the first of its readings. `prefix` begins names.
    """
    sent = posted or {}
    fields = []
    for channel in channels(schema, only):
        one = _member(schema, values, channel, sent.get(prefix + channel), omittable=omittable)
        text = one.text if one.kind == "file" else sent.get(prefix + channel, one.text)
        reading = sent.get(READING + channel, one.opened_reading)
        is_asked = one.opened_reading == UNANSWERED
        columns = _columns(one, sent, prefix)
        if columns:
            fields.append(_table(one, columns, sent, errors or {}, prefix))
            continue
        fields.append(
            Field(
                name=prefix + channel,
                label=one.label,
                kind=one.kind,
                value=text,
                was=one.text if compare and not same_text(text, one.text, one.kind) else None,
                help=ENCRYPTED if one.encrypted else _help(one),
                error=(errors or {}).get(channel, ""),
                required=is_asked and one.kind not in ("file", "fixed") and not one.encrypted,
                native_required=is_asked and not one.readings,
                options=_options(one),
                attrs=_attrs(one),
                readings=_readings(one) if asks else (),
                reading=reading,
                zones=_zones(one) if one.kind == "datetime" else (),
                zone=sent.get(ZONE + channel, one.zone),
            )
        )
    return fields


def parse(
    schema: Mapping[str, Any],
    values: Mapping[str, Any],
    posted: Mapping[str, str],
    *,
    only: Collection[str] | None = None,
    omittable: bool = False,
    prefix: str = PREFIX,
    judges: bool = True,
) -> tuple[dict[str, Any], dict[str, str]]:
    """({channel: new value, ABSENT where it is left out}, {channel: message}).

    What was not touched and what was not in the form is no change. A form whose values are judged
    elsewhere does not do so (`judges`).
    """
    changes: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for channel in channels(schema, only):
        texts = _texts(channel, posted, prefix)
        if texts is None:
            continue
        one = _member(schema, values, channel, texts.text, omittable=omittable)
        if one.kind in ("file", "fixed"):
            continue
        columns = _columns(one, posted, prefix)
        try:
            value = read_rows(one, columns, posted) if columns else one.read(texts, judges=judges)
        except Unreadable as error:
            errors[channel] = str(error)
        else:
            if value is not one.opened:
                changes[channel] = value
    return changes, errors


def touched(
    schema: Mapping[str, Any],
    values: Mapping[str, Any],
    posted: Mapping[str, str],
    *,
    omittable: bool = False,
) -> dict[str, str]:
    """The posted texts of the channels that a person changed; `values` are what the form showed."""
    results: dict[str, str] = {}
    for channel in channels(schema):
        texts = _texts(channel, posted)
        one = _member(schema, values, channel, posted.get(PREFIX + channel), omittable=omittable)
        names = [prefix + channel for prefix in (PREFIX, ZONE, READING)]
        if texts is None:
            continue
        columns = _columns(one, posted)
        if columns:
            names += names_of(one, columns)
            is_touched = _is_table_touched(one, columns, posted)
        else:
            is_touched = one.is_touched(texts)
        if is_touched:
            results |= {name: posted[name] for name in names if name in posted}
    return results


def _columns(one: Member, posted: Mapping[str, str], prefix: str = PREFIX) -> list[str]:
    """The columns of a list of objects as a table; none where its JSON was posted."""
    return columns_of(one) if posted.get(prefix + one.name, MARK) == MARK else []


def _table(
    one: Member,
    columns: list[str],
    posted: Mapping[str, str],
    errors: Mapping[str, str],
    prefix: str,
) -> Field:
    rows = rows_of(one, columns, posted)
    return Field(
        name=prefix + one.name,
        label=one.label,
        kind="table",
        value=MARK,
        help=_help(one).replace("JSON", "one object per row"),
        error=errors.get(one.name, ""),
        columns=columns,
        rows=rows,
    )


def _is_table_touched(one: Member, columns: list[str], posted: Mapping[str, str]) -> bool:
    try:
        return read_rows(one, columns, posted) is not one.opened
    except Unreadable:
        return True


def without_absent(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are there."""
    return {name: value for name, value in values.items() if value is not ABSENT}


def channels(schema: Mapping[str, Any], only: Collection[str] | None = None) -> Iterator[str]:
    """The channels in the author's order, which the database does not keep."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    order = {name: i for i, name in enumerate(schema.get("x-order") or ())}
    for name in sorted(properties, key=lambda name: order.get(name, len(order))):
        if only is None or name in only:
            yield name


def _member(
    schema: Mapping[str, Any],
    values: Mapping[str, Any],
    channel: str,
    text: str | None,
    *,
    omittable: bool,
) -> Member:
    raw = schema["properties"][channel]
    opened = values.get(channel, ABSENT)
    return member(channel, raw, schema, opened, omittable=omittable, text=text)


def _texts(channel: str, posted: Mapping[str, str], prefix: str = PREFIX) -> Posted | None:
    text = posted.get(prefix + channel)
    if text is None:
        return None
    return Posted(text, posted.get(ZONE + channel), posted.get(READING + channel))


def _options(one: Member) -> tuple[Option, ...]:
    """Options of a choice; the empty one first where it may be, or nothing was chosen yet."""
    listed = tuple(Option(*pair) for pair in zip(one.options, one.labels, strict=True))
    if not listed or (one.text and not one.readings):
        return listed
    return (Option("", _blank(one)), *listed)


def _blank(one: Member) -> str:
    if one.encrypted:
        return "unchanged"
    if one.opened_reading == UNANSWERED:
        return "choose…"
    return "not chosen" if one.opened_reading == OMITTED else READINGS[one.opened_reading]


def _readings(one: Member) -> tuple[Option, ...]:
    """Readings of an empty input, where a person has to say which."""
    opened = one.opened_reading
    names = one.readings if opened in one.readings else (UNANSWERED, *one.readings)
    if not one.readings or len(names) < 2:
        return ()
    return tuple(Option(name, READINGS[name]) for name in names)


def _zones(one: Member) -> tuple[Option, ...]:
    listed = dict.fromkeys(filter(None, (one.zone, *ZONES)))
    blank = () if one.zone else (Option("", "choose the zone…"),)
    return (*blank, *(Option(zone, "UTC" if zone == "Z" else f"UTC{zone}") for zone in listed))


def _help(one: Member) -> str:
    part, raw, kind = one.part, one.raw, one.kind
    words = {
        "integer": "whole number",
        "number": "number",
        "json": "JSON",
        "lines": "one per line",
    }.get(kind, "")
    low = part.get("minimum", part.get("exclusiveMinimum"))
    high = part.get("maximum", part.get("exclusiveMaximum"))
    if low is not None and high is not None:
        words += f", {low} to {high}"
    elif low is not None:
        words += f", at least {low}"
    elif high is not None:
        words += f", at most {high}"
    longest = part.get("maxLength")
    if kind in ("text", "textarea") and type(longest) is int:
        # Not an attribute: a browser cuts what is pasted without a word, and counts otherwise.
        words += f"at most {longest:,} character{'' if longest == 1 else 's'}"
    if NULL in one.readings and kind != "file":
        words += ", may be empty" if words else "may be empty"
    text = str(raw.get("description") or part.get("description") or "").strip()
    if not text or not words:
        return text or words
    # The sentence ends after what it needs to know as well.
    return f"{text[:-1]} ({words})." if text.endswith(".") else f"{text} ({words})"


def _attrs(one: Member) -> dict[str, str]:
    match one.kind:
        case "integer":
            return {"inputmode": "numeric"}
        case "number":
            return {"inputmode": "decimal"}
        case "datetime":
            return {"step": "1"}
    return {}
