"""The rows of an export as CSV, JSON Lines or OpenTelemetry log records; docs/proof.md has each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from approvals.records import RecordRow
from approvals.verification.integrity import ThreadIntegrity
from checkpoints.state import deltas
from checkpoints.states import EventKind
from dashboard.documents.cells import as_cell
from dashboard.identity.people import people

from .parties import parties_of

# The columns of the CSV, and the members of a JSON row in their order for people.
COLUMNS: Final = (
    "at",
    "thread",
    "title",
    "agent",
    "seq",
    "kind",
    "v",
    "actor",
    "by",
    "decision",
    "request",
    "amount",
    "currency",
    "payee",
    "risk",
    "tool",
    "node",
    "step",
    "checkpoint",
    "approval",
    "data",
    "chain",
    "salt",
    "data_hash",
    "prev_hash",
    "hash",
    "integrity",
    "damage",
)
# The verification of each thread that has a row.
type Checked = Mapping[UUID, ThreadIntegrity]
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FAILED: Final = frozenset(
    {EventKind.THREAD_FAILED, EventKind.EFFECT_FAILED, EventKind.STEP_FAILED}
)


def microseconds(at: datetime) -> int:
    """A time as the chain hashes it: whole microseconds since 1970."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def timestamp(at: datetime) -> str:
    """A time as rows have it: `2026-11-26T09:42:39.035110Z`."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def values_of(row: RecordRow, by: str, integrity: ThreadIntegrity) -> dict[str, Any]:
    """A row by the names of COLUMNS; what it has not is None."""
    about = parties_of(row.args)
    return {
        "at": timestamp(row.at),
        "thread": str(row.thread),
        "title": row.title,
        "agent": row.agent,
        "seq": row.seq,
        "kind": row.kind,
        "v": row.v,
        "actor": row.actor,
        "by": by or None,
        "decision": row.decision or None,
        "request": row.request or None,
        "amount": about.amount or None,
        "currency": about.currency or None,
        "payee": about.payee or None,
        "risk": (row.risk or None) if row.names_approval else None,
        "tool": row.tool or None,
        "node": row.node or None,
        "step": row.step,
        "checkpoint": row.checkpoint,
        # Only what the event itself names: a verifier can prove no more.
        "approval": row.names_approval,
        "data": row.data,
        "chain": str(row.chain),
        "salt": row.salt.hex(),
        "data_hash": row.data_hash.hex(),
        "prev_hash": row.prev_hash.hex(),
        "hash": row.hash.hex(),
        "integrity": integrity.state_at(row.seq),
        "damage": integrity.damage_at(row.seq) or None,
    }


def as_csv(rows: Sequence[RecordRow], checked: Checked) -> Iterator[bytes]:
    """A line for each row; `data` is canonical JSON."""
    for _, values in _pairs(rows, checked):
        values["data"] = deltas.canonical(values["data"]).decode()
        yield _line([_cell(name, values[name]) for name in COLUMNS])


def _cell(name: str, value: Any) -> str:
    text = "" if value is None else str(value)
    # A negative amount is a number to a spreadsheet, no formula.
    return text if name == "amount" and _NUMBER.fullmatch(text) else as_cell(text)


def as_jsonl(rows: Sequence[RecordRow], checked: Checked) -> Iterator[bytes]:
    """A JSON object for each row."""
    for _, values in _pairs(rows, checked):
        yield deltas.canonical(values) + b"\n"


def as_otlp(rows: Sequence[RecordRow], checked: Checked) -> Iterator[bytes]:
    """A line of `resourceLogs` with one log record for each row, as OTLP writes them as JSON."""
    for row, values in _pairs(rows, checked):
        record = {
            "timeUnixNano": f"{microseconds(row.at)}000",
            "observedTimeUnixNano": f"{microseconds(row.at)}000",
            "severityNumber": 17 if row.kind in _FAILED else 9,
            "severityText": "ERROR" if row.kind in _FAILED else "INFO",
            "eventName": f"gatepost.{row.kind}",
            "body": {"stringValue": deltas.canonical(values.pop("data")).decode()},
            "attributes": [
                {"key": f"gatepost.{name}", "value": _any_value(value)}
                for name, value in values.items()
                if value is not None
            ],
        }
        name = [{"key": "service.name", "value": {"stringValue": "gatepost"}}]
        scope = {"scope": {"name": "gatepost.record"}, "logRecords": [record]}
        logs = [{"resource": {"attributes": name}, "scopeLogs": [scope]}]
        yield deltas.canonical({"resourceLogs": logs}) + b"\n"


def _any_value(value: Any) -> dict[str, str]:
    # OTLP writes 64-bit integers as strings.
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def _pairs(
    rows: Sequence[RecordRow], checked: Checked
) -> Iterator[tuple[RecordRow, dict[str, Any]]]:
    """Each row with its values; names of people are looked up for all of them together."""
    names = people({row.actor for row in rows if not row.imported})
    for row in rows:
        by = "" if row.imported else names.get(row.actor, "")
        yield row, values_of(row, by, checked[row.thread])


def _line(cells: Iterable[str]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue().encode()


class Form(NamedTuple):
    """The way rows are written: the name of their member, what comes first in it, and some rows."""

    member: str
    head: bytes
    written: Callable[[Sequence[RecordRow], Checked], Iterator[bytes]]


FORMS: Final[Mapping[str, Form]] = {
    "jsonl": Form("events.jsonl", b"", as_jsonl),
    "csv": Form("events.csv", _line(COLUMNS), as_csv),
    "otlp": Form("events.otlp.jsonl", b"", as_otlp),
}
