"""How a row becomes the JSON of a capsule and back; pure.

UUIDs are text, bytes hex, times ISO 8601 in UTC, decimals text, stored JSON itself. Columns that
only hold here (leases, wishes, the workspace) stay behind: `exported` says which travel.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from uuid import UUID

from ..errors import InvalidValue
from ..state import deltas
from ..tables.columns import ACTIVITY, ARTIFACT
from ..tables.listed import Column, Columns

_ENDS = {"state", "result", "result_hash", "error", "usage", "undo", "undo_result", "finished_at"}
# Where a working or failed activity stands: the row it has, whatever was recorded of it before.
CURSOR: Final = ACTIVITY.only(
    *(name for name in ACTIVITY.exported if name not in _ENDS | {"approval_id"}), "cursor"
)
# A file with the place of its bytes, which stays here.
STORED_ARTIFACT: Final = ARTIFACT.only(*ARTIFACT.exported, "path")
# What rows of a capsule lack that was written before there were such columns.
LATER: Final[dict[str, Any]] = {
    "decide_by": None,
    "depth": 0,
    "escalated_at": None,
    "for_person": "",
    "origin": None,
    "pinned": None,
    "policies": "",
    "repeats": None,
    "root": None,
    "sentence": "",
    "standing_args": None,
    "standing_hash": "",
    "terms": None,
    "what_next": "",
}


def select(columns: Columns) -> str:
    """The columns of a SELECT, as `to_json` takes them."""
    return ", ".join(_SELECT.get(c.type, "{0}").format(name) for name, c in columns.items())


_SELECT = {
    "uuid": "{0}::text",
    "bytea": "encode({0}, 'hex')",
    "jsonb": "{0}::text",
    "numeric": "trim_scale({0})::text",
}


def to_json(columns: Columns, values: Sequence[Any]) -> dict[str, Any]:
    """A row, selected by `select`, as plain JSON."""
    row: dict[str, Any] = {}
    for column, value in zip(columns.values(), values, strict=True):
        if value is None:
            row[column.name] = None
        elif column.type == "jsonb":
            row[column.name] = deltas.decode(value)
        elif column.type == "timestamptz":
            row[column.name] = value.astimezone(UTC).isoformat(timespec="microseconds")
        else:
            row[column.name] = value
    return row


def from_json(columns: Columns, row: Any, path: str) -> dict[str, Any]:
    """A row of a capsule as parameters by column; raises InvalidValue with the place.

    No member may be unknown, none missing but those of LATER, none of another type than its column.
    """
    if not isinstance(row, dict):
        raise InvalidValue(path, "must be an object")
    row = {name: value for name, value in LATER.items() if name in columns} | row
    if row.keys() != columns.keys():
        strange = sorted(row.keys() ^ columns.keys())[0]
        raise InvalidValue(
            deltas.at(path, strange), "is missing" if strange in columns else "is not known"
        )
    return {
        name: _value(column, row[name], deltas.at(path, name)) for name, column in columns.items()
    }


_RANGES = {"smallint": 2**15, "integer": 2**31, "bigint": 2**53}


def _value(column: Column, value: Any, path: str) -> Any:
    # Of stored JSON null says the same as nothing there.
    if value is None and (column.nullable or LATER.get(column.name, "") is None):
        return None
    kind = column.type
    if kind == "jsonb":
        return deltas.canonical(value).decode()
    if kind == "boolean":
        if type(value) is not bool:
            raise InvalidValue(path, "must be true or false")
        return value
    if kind in _RANGES:
        if type(value) is not int or not -_RANGES[kind] <= value < _RANGES[kind]:
            raise InvalidValue(path, f"must be a whole number ({kind})")
        return value
    if not isinstance(value, str):
        raise InvalidValue(path, "must be text")
    deltas.check(value, path)
    try:
        return _FROM_TEXT.get(kind, str)(value)
    except (ValueError, InvalidOperation, OverflowError):
        raise InvalidValue(path, f"is no {_WORDS[kind]}") from None


def _time(text: str) -> datetime:
    result = datetime.fromisoformat(text)
    if result.utcoffset() is None:
        raise ValueError
    return result


def _number(text: str) -> Decimal:
    result = Decimal(text)
    if not result.is_finite():
        raise ValueError
    return result


_FROM_TEXT: dict[str, Any] = {
    "uuid": UUID,
    "bytea": bytes.fromhex,
    "timestamptz": _time,
    "numeric": _number,
}
_WORDS = {"uuid": "id", "bytea": "hex text", "timestamptz": "time", "numeric": "number"}
