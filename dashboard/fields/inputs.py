"""One member of a JSON Schema as an input: its kind, how a value is shown, how a text is read.

An input that is left empty can mean four things: the member is left out, null, an empty text or an
empty list. What it means is the reading of the member: where the schema allows several, the form
asks (`e-<member>`). An input that nobody touched keeps its value exactly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import isfinite
from typing import Any, Final

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from checkpoints.state.encrypted import is_envelope
from checkpoints.state.list_keys import resolve
from dashboard.errors import Fault

from .faults import beside, inside, location, schema_faults
from .typed_values import without_thousands

LONG: Final = 80  # characters of a text that needs more than a line
LONG_ALLOWED: Final = 200  # a text that may be longer than this is a long text
# A channel that holds a file says "artifact" here; an object of texts, of which a form takes one
# member, says "pair".
MARKED: Final = "x-gatepost"
TRUE, FALSE = "true", "false"

OMITTED, NULL, EMPTY_TEXT, EMPTY_LIST, UNANSWERED = "omitted", "null", "text", "list", ""
READINGS: Final = {
    OMITTED: "left out",
    NULL: "no value (null)",
    EMPTY_TEXT: "an empty text",
    EMPTY_LIST: "an empty list",
    UNANSWERED: "no answer yet",
}

_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?", re.ASCII)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(?:\.0{1,3})?)?(Z|[-+]\d\d:\d\d)?", re.ASCII
)
ZONES: Final = (
    "Z",
    *(
        f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
        for minutes in sorted(
            {*range(-720, 841, 60), -570, -210, 210, 270, 330, 345, 390, 525, 570, 630, 765} - {0}
        )
    ),
)


class Unreadable(ValueError):
    """A posted text that is no value of its field's type; the message is for the person."""


class Omitted:
    """Stands for a member that an object does not have, which is not the same as null."""


ABSENT: Final = Omitted()


@dataclass(frozen=True, slots=True)
class Posted:
    """The texts of one input; None for a part that the form did not have."""

    text: str
    zone: str | None = None
    reading: str | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object under its schema, and the value that the form was opened on.

    `raw` is its part of the schema, `part` the one that says the type. `readings` are what an
    empty input may mean; the first one is what clearing it means.
    """

    name: str
    raw: Mapping[str, Any]
    part: Mapping[str, Any]
    root: Mapping[str, Any]
    opened: Any
    required: bool
    encrypted: bool
    kind: str
    options: tuple[str, ...]
    labels: tuple[str, ...]
    readings: tuple[str, ...]

    @property
    def label(self) -> str:
        """The author's title, else the name."""
        return str(self.raw.get("title") or self.name)

    @property
    def text(self) -> str:
        """The opened value as its input shows it."""
        if self.encrypted:
            return ""
        if self.kind == "select" and not reading_of(self.opened):
            return _option(self.opened, is_text=self.is_text_choice)
        return to_text(self.opened, self.kind)

    @property
    def zone(self) -> str:
        """The zone of the opened time; empty without one."""
        is_time = self.kind == "datetime" and isinstance(self.opened, str)
        parts = _TIME.fullmatch(self.opened) if is_time else None
        return (parts[3] or "") if parts else ""

    @property
    def opened_reading(self) -> str:
        """Reading of the empty input before anybody touches it."""
        held = reading_of(self.opened) if self.is_empty(self.text) else ""
        if held:
            return held if held in self.readings else UNANSWERED
        return self.readings[0] if self.readings else UNANSWERED

    def is_touched(self, posted: Posted) -> bool:
        """True if the person changed the text, the zone or what an empty input means."""
        if same_text(posted.text, self.text, self.kind):
            if self.is_empty(posted.text):
                return posted.reading not in (None, self.opened_reading)
            return posted.zone is not None and posted.zone != self.zone
        return True

    def is_empty(self, text: str) -> bool:
        """True if the input is empty; a text of blanks is a text."""
        return not (text if self.kind in ("text", "textarea") else text.strip())

    def read(self, posted: Posted, *, judges: bool = True) -> Any:
        """The value that was meant, ABSENT if the member is left out; raises Unreadable.

        Unless it `judges`, the schema is asked only for the type of a value.
        """
        if self.is_empty(posted.text):
            return self._read_empty(posted)
        if not self.is_touched(posted):
            return self.opened
        value = self._read_text(posted)
        if not judges:
            return value
        judge(value, self.raw, self.root)
        return value

    def _read_empty(self, posted: Posted) -> Any:
        if self.encrypted:
            return self.opened
        reading = self.opened_reading if posted.reading is None else posted.reading
        if reading and reading not in self.readings:
            raise Unreadable("This can’t be left empty in that way.")
        if reading == UNANSWERED:
            needed = "Choose one." if self.kind in ("select", "bool") else "This is required."
            raise Unreadable(needed)
        if reading == reading_of(self.opened):
            return self.opened
        return {OMITTED: ABSENT, NULL: None, EMPTY_TEXT: "", EMPTY_LIST: []}[reading]

    def _read_text(self, posted: Posted) -> Any:
        if self.kind == "datetime":
            return _time_of(posted, self.zone)
        if self.kind == "select" and posted.text in self.options:
            if self.is_text_choice:
                return posted.text
            return from_json(posted.text)
        return from_text(posted.text, self.kind)

    @property
    def is_text_choice(self) -> bool:
        """True if the options are the values themselves, not their JSON."""
        return all(isinstance(value, str) for value in choices(self.part)[0])


def member(
    name: str,
    raw: Any,
    schema: Mapping[str, Any],
    opened: Any,
    *,
    omittable: bool,
    text: str | None = None,
) -> Member:
    """The input of a member; `omittable`: where the schema does not require it, it may be missing.

    `text` is what was posted: an input that would not show it is made one that does.
    """
    raw = raw if isinstance(raw, Mapping) else ({} if raw else {"not": {}})
    part, nullable = resolve(raw, schema)
    values, titles = choices(part)
    nullable = nullable or None in values
    encrypted = is_envelope(opened)
    held = ABSENT if encrypted else opened
    kind = _kind(part, raw, held, text)
    required = name in (schema.get("required") or ())
    options, labels = _options(kind, values, titles, held, text)
    may_be_absent = not required if omittable else opened is ABSENT
    readings = () if encrypted else _readings(raw, schema, kind, held, nullable, may_be_absent)
    return Member(
        *(name, raw, part, schema, opened, required, encrypted),
        *(kind, options, labels, readings),
    )


def reading_of(value: Any) -> str:
    """Reading of an empty input for this value; empty where the input is not empty."""
    if value is ABSENT:
        return OMITTED
    if value is None:
        return NULL
    if value == "":
        return EMPTY_TEXT
    return EMPTY_LIST if isinstance(value, list) and not value else ""


def _readings(
    raw: Mapping[str, Any],
    schema: Mapping[str, Any],
    kind: str,
    opened: Any,
    nullable: bool,
    may_be_absent: bool,
) -> tuple[str, ...]:
    """Readings that an empty input may have here, that of clearing it first."""
    if kind in ("file", "fixed"):
        return ()
    held = reading_of(opened)
    possible: dict[str, bool] = {}
    if kind in ("text", "textarea", "date", "datetime", "select"):
        possible[EMPTY_TEXT] = held == EMPTY_TEXT or _fits("", raw, schema)
    if kind == "lines":
        possible[EMPTY_LIST] = held == EMPTY_LIST or _fits([], raw, schema)
    possible[NULL] = held == NULL or (nullable and _fits(None, raw, schema))
    possible[OMITTED] = may_be_absent
    return tuple(name for name, is_possible in possible.items() if is_possible)


def choices(part: Mapping[str, Any]) -> tuple[list[Any], list[str]]:
    """(the values of a choice, how each is called); empty where the part lists no values."""
    if "const" in part:
        return [part["const"]], [""]
    if isinstance(values := part.get("enum"), list):
        return values, [""] * len(values)
    ways = part.get("oneOf") or part.get("anyOf") or []
    if ways and all(isinstance(one, Mapping) and "const" in one for one in ways):
        return [one["const"] for one in ways], [str(one.get("title", "")) for one in ways]
    return [], []


def _options(
    kind: str, values: Sequence[Any], titles: Sequence[str], opened: Any, text: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(what the options send, what they show); the opened value is one of them in any case."""
    if kind == "bool":
        return (TRUE, FALSE), ("yes", "no")
    if kind != "select":
        return (), ()
    is_text = all(isinstance(value, str) for value in values)
    shown = {
        (value if is_text else deltas.canonical(value).decode()): title or to_text(value, "text")
        for value, title in zip(values, titles, strict=True)
        if value is not None and value != ""
    }
    held = "" if opened is ABSENT or opened is None else _option(opened, is_text=is_text)
    for other in (held, text or ""):
        if other:
            shown.setdefault(other, other)
    return tuple(shown), tuple(shown.values())


def _option(value: Any, *, is_text: bool) -> str:
    return value if is_text and isinstance(value, str) else deltas.canonical(value).decode()


def _kind(part: Mapping[str, Any], raw: Mapping[str, Any], opened: Any, text: str | None) -> str:
    if raw.get("readOnly") or part.get("readOnly"):
        return "fixed"
    marks = (raw.get(MARKED), part.get(MARKED))
    if "artifact" in marks:
        return "file"
    if "pair" in marks and (opened is ABSENT or len(opened or ()) < 2):
        return "pair"
    if choices(part)[0]:
        return "select"
    is_empty = opened is ABSENT or opened is None
    match part.get("type"):
        case "string" if is_empty or isinstance(opened, str):
            return _kind_of_text(part, "" if is_empty else opened, text)
        case "boolean" if is_empty or isinstance(opened, bool):
            return "bool"
        case "integer" | "number" if is_empty or type(opened) in (int, float):
            return str(part["type"])
        case "array" if is_empty or isinstance(opened, list):
            # Strings that are no lines themselves are easier to write without quotes and commas.
            items = part.get("items")
            is_of_text = isinstance(items, Mapping) and items.get("type") == "string"
            held = [] if is_empty else opened
            if is_of_text and all(isinstance(v, str) and _is_line(v) for v in held):
                return "lines"
    return "json"


def _kind_of_text(part: Mapping[str, Any], opened: str, text: str | None) -> str:
    form = part.get("format")
    if form == "date" and all(_is_day(one) for one in (opened, text) if one):
        return "date"
    if form == "date-time" and (not opened or _is_zoned(opened)) and (not text or _is_local(text)):
        return "datetime"
    allowed = part.get("maxLength", 0)
    longest = opened if text is None else max(opened, text, key=len)
    is_long = len(longest) > LONG or any(c in opened + (text or "") for c in "\r\n")
    is_meant_long = form == "textarea" or (type(allowed) is int and allowed > LONG_ALLOWED)
    return "textarea" if is_long or is_meant_long else "text"


def _is_line(text: str) -> bool:
    return bool(text) and text.strip() == text and "\n" not in text and "\r" not in text


def one_line(value: Any) -> bool:
    """True for a text that an input of one line shows whole, and for a value that is not there."""
    return not isinstance(value, str) or not ("\n" in value or "\r" in value)


def _is_day(text: str) -> bool:
    return bool(_DAY.fullmatch(text)) and _can_be_read(date.fromisoformat, text)


def _is_zoned(text: str) -> bool:
    parts = _TIME.fullmatch(text)
    return parts is not None and bool(parts[3]) and _can_be_read(datetime.fromisoformat, text)


def _is_local(text: str) -> bool:
    parts = _TIME.fullmatch(text)
    return parts is not None and not parts[3] and _can_be_read(datetime.fromisoformat, text)


def _can_be_read(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def same_text(one: str, other: str, kind: str) -> bool:
    """True if two texts of an input are the same one: browsers write line ends their own way."""
    if kind == "datetime":
        return _local(one) == _local(other)
    one, other = _unix(one), _unix(other)
    return one == other if kind in ("text", "textarea") else one.strip() == other.strip()


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _local(text: str) -> str:
    """A time without its zone as browsers shorten it: seconds only where there are any."""
    parts = _TIME.fullmatch(text.strip())
    if parts is None:
        return text
    return parts[1] + (f":{parts[2]}" if parts[2] not in (None, "00") else "")


def _time_of(posted: Posted, known: str) -> str:
    parts = _TIME.fullmatch(posted.text.strip())
    if parts is None:
        raise Unreadable("Use a date and time like 2026-11-30T09:30.")
    zone = known if posted.zone is None else posted.zone
    if not zone:
        raise Unreadable("Choose the time zone.")
    return f"{parts[1]}:{parts[2] or '00'}{zone}"


def to_text(value: Any, kind: str) -> str:
    """A value as its input shows it; nothing for a member that is missing."""
    if value is ABSENT:
        return ""
    if kind == "json":
        return json.dumps(value, ensure_ascii=False, indent=2)
    if kind == "lines":
        return "\n".join(value or ())
    if kind == "pair":
        return next((f"{key}:{text}" for key, text in (value or {}).items()), "")
    if kind == "file":
        return str(value.get("name") or "a file") if isinstance(value, Mapping) else ""
    if value is None:
        return ""
    if kind == "datetime":
        return _local(value)
    if isinstance(value, bool):
        return TRUE if value else FALSE
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def from_text(text: str, kind: str) -> Any:
    """The value a person meant; raises Unreadable."""
    stripped = text.strip()
    match kind:
        case "lines":
            return [line.strip() for line in _unix(text).split("\n") if line.strip()]
        case "date":
            return stripped
        case "text" | "textarea" | "select":
            return _unix(text)
        case "bool":
            if stripped not in (TRUE, FALSE):
                raise Unreadable("Choose yes or no.")
            return stripped == TRUE
        case "pair":
            return _pair(stripped)
        case "integer":
            return _whole_number(stripped)
        case "number":
            return _number(stripped)
    return from_json(stripped or "null")


def _pair(text: str) -> dict[str, str]:
    key, colon, value = text.partition(":")
    if not (key.strip() and colon):
        raise Unreadable("Write key:value.")
    return {key.strip(): value.strip()}


def _whole_number(text: str) -> int:
    try:
        if _NUMBER.fullmatch(plain := without_thousands(text)):
            return int(plain)
    except ValueError:
        pass
    raise Unreadable(f"“{text}” is not a whole number.")


def _number(text: str) -> int | float:
    if not _NUMBER.fullmatch(text):
        raise Unreadable(f"“{text}” is not a number.")
    try:
        return int(text)
    except ValueError:
        value = float(text)
    if not isfinite(value) or not deltas.is_exact(text, value):
        raise Unreadable("This number has more digits than can be kept exactly.")
    return value


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


def judge(value: Any, part: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Raise Unreadable for a value that this part of a schema refuses."""
    try:
        deltas.check(value)
    except InvalidValue as error:
        raise Unreadable(_in_words(error)) from None
    if result := _faults(value, part, schema):
        raise Unreadable(beside(result[0])[1])


def _fits(value: Any, part: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    return not _faults(value, part, schema)


def _faults(value: Any, part: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Fault]:
    whole = {"properties": {"value": part}, "$defs": schema.get("$defs", {})}
    return schema_faults(whole, {"value": value})
