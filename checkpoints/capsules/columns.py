"""Which columns of a row travel in a capsule, and how a row becomes JSON and back; pure.

UUIDs are text, bytes hex, times ISO 8601 in UTC, decimals text, stored JSON itself. Columns that
only hold here (leases, wishes, the workspace) stay behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from ..errors import InvalidValue
from ..state import deltas

type Columns = Mapping[str, str]

THREAD: Columns = {
    "id": "uuid",
    "workspace_id": "uuid",
    "agent_version_id": "uuid",
    "agent": "varchar",
    "name": "varchar",
    "title": "varchar",
    "labels": "jsonb",
    "status": "varchar",
    "status_since": "timestamptz",
    "status_reason": "text",
    "waiting_on": "jsonb",
    "head": "uuid",
    "number": "integer",
    "step": "integer",
    "branch": "integer",
    "state_bytes": "bigint",
    "version": "bigint",
    "chain_id": "uuid",
    "last_seq": "bigint",
    "last_hash": "bytea",
    "last_at": "timestamptz",
    "fence": "bigint",
    "started_by": "varchar",
    "parent": "uuid",
    "base": "uuid",
    "forked_from": "uuid",
    "rollback": "jsonb",
    "n_steps": "bigint",
    "tokens": "bigint",
    "cost": "numeric",
    "tokens_saved": "bigint",
    "created_at": "timestamptz",
    "pinned": "boolean",
}
EVENT: Columns = {
    "seq": "bigint",
    "kind": "varchar",
    "v": "smallint",
    "actor": "varchar",
    "at": "timestamptz",
    "data": "jsonb",
    "salt": "bytea",
    "data_hash": "bytea",
    "prev_hash": "bytea",
    "hash": "bytea",
}
CHECKPOINT: Columns = {
    "id": "uuid",
    "number": "integer",
    "branch": "integer",
    "branch_start": "integer",
    "step": "integer",
    "parent": "uuid",
    "parent_thread": "uuid",
    "parent_number": "integer",
    "source": "varchar",
    "nodes": "jsonb",
    "next_nodes": "jsonb",
    "delta": "jsonb",
    "salt": "bytea",
    "delta_hash": "bytea",
    "state_hash": "bytea",
    "state_bytes": "bigint",
    "schema_version": "integer",
    "agent_version_id": "uuid",
    "config": "jsonb",
    "created_by": "varchar",
    "created_at": "timestamptz",
}
ACTIVITY: Columns = {
    "id": "uuid",
    "branch": "integer",
    "step": "integer",
    "node": "varchar",
    "index": "integer",
    "key": "varchar",
    "revision": "smallint",
    "kind": "varchar",
    "tool": "varchar",
    "state": "varchar",
    "args": "jsonb",
    "salt": "bytea",
    "input_hash": "bytea",
    "result": "jsonb",
    "result_hash": "bytea",
    "error": "text",
    "attempts": "smallint",
    "usage": "jsonb",
    "idempotency_key": "varchar",
    "undo": "varchar",
    "undo_result": "jsonb",
    "approval_id": "uuid",
    "started_at": "timestamptz",
    "finished_at": "timestamptz",
}
_ENDS = {"state", "result", "result_hash", "error", "usage", "undo", "undo_result", "finished_at"}
# Where a working or failed activity stands: the row it has, whatever was recorded of it before.
CURSOR: Columns = {
    name: kind for name, kind in ACTIVITY.items() if name not in _ENDS | {"approval_id"}
} | {"cursor": "jsonb"}
AGENT_VERSION: Columns = {
    "id": "uuid",
    "agent": "varchar",
    "version": "integer",
    "fingerprint": "varchar",
    "label": "varchar",
    "description": "text",
    "schema_version": "integer",
    "schema": "jsonb",
    "channels": "jsonb",
    "graph": "jsonb",
    "tools": "jsonb",
    "queue": "varchar",
}
ARTIFACT: Columns = {
    "sha256": "varchar",
    "name": "varchar",
    "media_type": "varchar",
    "size": "bigint",
}
# What may be absent; of stored JSON also null, which says the same there.
OPTIONAL = frozenset(
    {
        "approval_id",
        "base",
        "config",
        "deadline",
        "decided_args",
        "decide_by",
        "decided_at",
        "effective_at",
        "escalated_at",
        "finished_at",
        "forked_from",
        "name",
        "parent",
        "parent_number",
        "parent_thread",
        "pinned",
        "repeats",
        "result",
        "result_hash",
        "rollback",
        "schema",
        "standing_args",
        "terms",
        "undo_result",
        "usage",
        "waiting_on",
    }
)


def selected(columns: Columns) -> str:
    """The columns of a SELECT, as `told` wants them."""
    return ", ".join(_SELECT.get(kind, "{0}").format(name) for name, kind in columns.items())


_SELECT = {
    "uuid": "{0}::text",
    "bytea": "encode({0}, 'hex')",
    "jsonb": "{0}::text",
    "numeric": "trim_scale({0})::text",
}


def told(columns: Columns, values: Sequence[Any]) -> dict[str, Any]:
    """A row, selected by `selected`, as plain JSON."""
    found: dict[str, Any] = {}
    for (name, kind), value in zip(columns.items(), values, strict=True):
        if value is None:
            found[name] = None
        elif kind == "jsonb":
            found[name] = deltas.decode(value)
        elif kind == "timestamptz":
            found[name] = value.astimezone(UTC).isoformat(timespec="microseconds")
        else:
            found[name] = value
    return found


# What rows of a capsule lack that was written before there were such columns.
LATER = {
    "decide_by": None,
    "escalated_at": None,
    "pinned": None,
    "policies": "",
    "repeats": None,
    "sentence": "",
    "standing_args": None,
    "standing_hash": "",
    "terms": None,
    "what_next": "",
}


def read(columns: Columns, row: Any, path: str) -> dict[str, Any]:
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
        name: _value(kind, row[name], deltas.at(path, name), optional=name in OPTIONAL)
        for name, kind in columns.items()
    }


_RANGES = {"smallint": 2**15, "integer": 2**31, "bigint": 2**53}


def _value(kind: str, value: Any, path: str, *, optional: bool) -> Any:
    if value is None and optional:
        return None
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
    found = datetime.fromisoformat(text)
    if found.utcoffset() is None:
        raise ValueError
    return found


def _number(text: str) -> Decimal:
    found = Decimal(text)
    if not found.is_finite():
        raise ValueError
    return found


_FROM_TEXT: dict[str, Any] = {
    "uuid": UUID,
    "bytea": bytes.fromhex,
    "timestamptz": _time,
    "numeric": _number,
}
_WORDS = {"uuid": "id", "bytea": "hex text", "timestamptz": "time", "numeric": "number"}


def inserted(table: str, columns: Columns, fixed: Mapping[str, str]) -> str:
    """An INSERT of `columns` and then the `fixed` ones {name: type}, in their order."""
    every = {**columns, **fixed}
    values = ", ".join(f"%s::{kind}" for kind in every.values())
    return f"INSERT INTO {table} ({', '.join(every)}) VALUES ({values})"
