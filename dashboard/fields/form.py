"""Forms made from the JSON Schema of an agent's state: to inputs and back to values.

`build` makes the inputs, `parse` reads what was posted. Each top-level channel is one input named
`f-<channel>`; objects and lists are edited as JSON. A value is judged by its own part of the
schema, so that a refusal stands beside its field.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from checkpoints.state.encrypted import is_envelope
from checkpoints.state.list_keys import resolve

from .faults import beside, inside, location, schema_faults
from .shapes import Field
from .typed_values import without_thousands

PREFIX = "f-"
LONG = 80
ARTIFACT = "x-gatepost"  # a channel that holds a file says "artifact" here
TRUE, FALSE = "true", "false"
ENCRYPTED = "encrypted; leave empty to keep the value"
_TYPED = ("text", "textarea", "integer", "number")


class Unreadable(ValueError):
    """A posted text that is no value of its field's type; the message is for the person."""


def build(
    schema: Mapping[str, Any],
    values: Mapping[str, Any],
    *,
    posted: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    compare: bool = True,
) -> list[Field]:
    """Inputs for the channels of `schema`, filled with `values` or with what was `posted`.

    `only` limits the channels; `compare` notes what a changed value was before; `errors` maps
    channel to message.
    """
    required = set(schema.get("required") or ())
    fields = []
    for channel, raw in (schema.get("properties") or {}).items():
        if only is not None and channel not in only:
            continue
        part, nullable = resolve(raw, schema)
        value = values.get(channel, part.get("default", raw.get("default")))
        encrypted = is_envelope(value)
        kind, options = _kind(part, raw, None if encrypted else value, nullable)
        if encrypted and options:
            options = ("", *(option for option in options if option))
        was = "" if encrypted else to_text(value, kind)
        text = was if kind == "file" else (posted or {}).get(PREFIX + channel, was)
        fields.append(
            Field(
                name=PREFIX + channel,
                label=str(raw.get("title") or channel),
                kind=kind,
                value=text,
                was=was if compare and _plain(text) != _plain(was) else None,
                help=ENCRYPTED if encrypted else _help(part, raw, kind, nullable=nullable),
                error=(errors or {}).get(channel, ""),
                required=(channel in required or _needs_text(part))
                and kind in _TYPED
                and not encrypted,
                options=options,
                attrs=_attrs(part, kind),
            )
        )
    return fields


def parse(
    schema: Mapping[str, Any],
    values: Mapping[str, Any],
    posted: Mapping[str, str],
    *,
    every: bool = False,
) -> tuple[dict[str, Any], dict[str, str]]:
    """({channel: new value}, {channel: message}); unchanged channels are left out.

    With `every` (a start form) each filled input counts as a value, empty ones are left out.
    """
    changes: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for channel, raw in (schema.get("properties") or {}).items():
        text = posted.get(PREFIX + channel)
        if text is None:
            continue
        part, nullable = resolve(raw, schema)
        old = values.get(channel, part.get("default", raw.get("default")))
        if encrypted := is_envelope(old):
            old = None
        kind, _ = _kind(part, raw, old, nullable)
        if kind in ("file", "fixed") or (encrypted and not text.strip()):
            continue
        if every and not text.strip() and kind not in ("text", "textarea", "lines"):
            continue
        if not (every or encrypted) and _plain(text) == _plain(to_text(old, kind)):
            continue
        try:
            value = from_text(text, kind, nullable=nullable, old=old)
            _judge(value, raw, schema)
        except Unreadable as error:
            errors[channel] = str(error)
        else:
            changes[channel] = value
    return changes, errors


def touched(
    schema: Mapping[str, Any], values: Mapping[str, Any], posted: Mapping[str, str]
) -> dict[str, str]:
    """The posted texts that differ from what the form showed of `values`, by input name."""
    results = {}
    for field in build(schema, values, compare=False):
        text = posted.get(field.name)
        if text is not None and _plain(text) != _plain(field.value):
            results[field.name] = text
    return results


def to_text(value: Any, kind: str) -> str:
    """A value as its input shows it."""
    if kind == "json":
        return json.dumps(value, ensure_ascii=False, indent=2)
    if kind == "lines":
        return "\n".join(value or ())
    if kind == "file":
        return str(value.get("name") or "a file") if isinstance(value, Mapping) else ""
    if value is None:
        return ""
    if isinstance(value, bool):
        return TRUE if value else FALSE
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def from_text(text: str, kind: str, *, nullable: bool = False, old: Any = None) -> Any:
    """The value a person meant; raises Unreadable."""
    stripped = text.strip()
    if kind == "lines":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if kind in ("text", "textarea", "select"):
        if not text and nullable and (old is None or kind == "select"):
            return None
        return text.replace("\r\n", "\n")
    if not stripped and nullable:
        return None
    if kind == "bool":
        if stripped not in (TRUE, FALSE):
            raise Unreadable("Choose yes or no.")
        return stripped == TRUE
    if kind == "integer":
        try:
            return int(without_thousands(stripped))
        except ValueError:
            raise Unreadable(f"“{stripped}” is not a whole number.") from None
    if kind == "number":
        try:
            value = float(stripped)
        except ValueError:
            raise Unreadable(f"“{stripped}” is not a number.") from None
        return int(value) if value.is_integer() and isinstance(old, int) else value
    return from_json(stripped or "null")


def from_json(text: str) -> Any:
    """The value of a JSON text that a person wrote; raises Unreadable."""
    if (fault := syntax_fault(text)) is not None:
        raise Unreadable(
            f"This is not valid JSON; look at line {fault.lineno}, character {fault.colno}."
        )
    try:
        return deltas.decode_request(text.encode())
    except InvalidValue as error:
        raise Unreadable(_in_words(error)) from None
    except ValueError:
        raise Unreadable("This text holds characters that cannot be stored.") from None


def syntax_fault(text: str) -> json.JSONDecodeError | None:
    """The first place at which a text is no JSON; None where it can be read.

    Numbers and depth are for the reader of values to judge: Python refuses very long numbers.
    """
    try:
        json.loads(text, parse_int=str)
    except json.JSONDecodeError as error:
        return error
    except RecursionError:
        pass
    return None


def _in_words(error: InvalidValue) -> str:
    # The path names the input first; a fault of the text itself has none.
    return inside(location(f"$.value{error.path.removeprefix('$')}")[1], error.reason)


def _judge(value: Any, part: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    try:
        deltas.check(value)
    except InvalidValue as error:
        raise Unreadable(_in_words(error)) from None
    whole = {"properties": {"value": part}, "$defs": schema.get("$defs", {})}
    if result := schema_faults(whole, {"value": value}):
        raise Unreadable(beside(result[0])[1])


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _kind(
    part: Mapping[str, Any], raw: Mapping[str, Any], value: Any, nullable: bool
) -> tuple[str, tuple[str, ...]]:
    if "const" in part or raw.get("readOnly") or part.get("readOnly"):
        return "fixed", ()
    if "artifact" in (raw.get(ARTIFACT), part.get(ARTIFACT)):
        return "file", ()
    options = part.get("enum")
    if isinstance(options, list) and all(isinstance(option, str) for option in options):
        return "select", (("",) if nullable else ()) + tuple(options)
    match part.get("type"):
        case "string":
            text = value if isinstance(value, str) else ""
            long = len(text) > LONG or "\n" in text or part.get("format") == "textarea"
            return ("textarea" if long else "text"), ()
        case "boolean":
            return "bool", (("",) if nullable else ()) + (TRUE, FALSE)
        case "integer":
            return "integer", ()
        case "number":
            return "number", ()
        case "array":
            # Strings that are no lines themselves are easier to write without quotes and commas.
            items = part.get("items")
            of_text = isinstance(items, Mapping) and items.get("type") == "string"
            if of_text and all(isinstance(v, str) and v.strip() == v for v in value or ()):
                return ("lines" if not any("\n" in v or not v for v in value or ()) else "json"), ()
    return "json", ()


def _help(part: Mapping[str, Any], raw: Mapping[str, Any], kind: str, *, nullable: bool) -> str:
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
    if nullable and kind != "file":
        words += ", may be empty" if words else "may be empty"
    text = str(raw.get("description") or part.get("description") or "").strip()
    if not text or not words:
        return text or words
    # The sentence ends after what it needs to know as well.
    return f"{text[:-1]} ({words})." if text.endswith(".") else f"{text} ({words})"


def _needs_text(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "string" and bool(part.get("minLength"))


def _attrs(part: Mapping[str, Any], kind: str) -> dict[str, str]:
    if kind in ("text", "textarea"):
        return {"maxlength": str(part["maxLength"])} if "maxLength" in part else {}
    if kind == "integer":
        return {"inputmode": "numeric"}
    return {"inputmode": "decimal"} if kind == "number" else {}
