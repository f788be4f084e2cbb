"""A thread's approvals and decisions beside the events that name them, for its verification."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints import deltas, queries
from checkpoints.chain import Broken, Event
from checkpoints.states import EventKind as K

from .gates import REQUEST, decision_content, request_seal

_ENDS = {
    K.APPROVAL_DECIDED: ("settled",),
    K.APPROVAL_WITHDRAWN: ("withdrawn",),
    K.APPROVAL_EXPIRED: ("expired",),
}
_NAMING = frozenset({K.APPROVAL_REQUESTED, *_ENDS})
_ANSWER = (
    "status",
    "outcome",
    "comment",
    "decided_by",
    "decided_by_name",
    "decided_at",
    "decided_args",
    "effective_at",
    "requested_at",
    "imported",
)
_DECISION = (
    "id",
    "workspace_id",
    "approval_id",
    "reviewer",
    "reviewer_name",
    "verdict",
    "proposal_hash",
    "comment",
    "args",
    "salt",
    "hash",
    "at",
)
_JSON = frozenset({"args", "reasons", "schema", "decided_args", "terms"})


class Approvals:
    """Checks each request, its end and its decision against the events that name them."""

    def __init__(self, thread: UUID, workspace: UUID) -> None:
        self._thread = thread
        self._workspace = workspace
        self._requested = self._ended = self._decided = 0
        self._imports: list[tuple[int, UUID]] | None = None

    def see(self, events: Sequence[Event]) -> None:
        """Check what these events name; raises Broken."""
        told = [(e, deltas.decode(e.data)) for e in events if e.kind in _NAMING]
        naming = [(e, data) for e, data in told if "approval" in data]
        asked = _rows("gp_approval", (*REQUEST, *_ANSWER), "id", _ids(naming, "approval"))
        decided = _rows("gp_decision", _DECISION, "id", _ids(naming, "decision"))
        for event, data in naming:
            row = asked.get(UUID(data["approval"]))
            if row is None or row["thread_id"] != self._thread:
                raise Broken(event.seq, "the request it names is missing")
            if event.kind == K.APPROVAL_REQUESTED:
                self._check_request(event, data, row)
            else:
                _check_end(event, data, row)
                self._ended += 1
            if event.kind == K.APPROVAL_DECIDED:
                self._check_decision(event, data, row, decided.get(UUID(data["decision"])))

    def end(self, last_seq: int) -> None:
        """Refuse requests and decisions that no event names; raises Broken."""
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*), count(*) FILTER (WHERE status <> 'pending'), (SELECT count(*) "
                "FROM gp_decision d JOIN gp_approval a ON a.id = d.approval_id "
                "WHERE a.thread_id = %s::uuid) FROM gp_approval WHERE thread_id = %s::uuid",
                (self._thread, self._thread),
            )
            found = cursor.fetchone()
        for n, told, what in zip(
            found,
            (self._requested, self._ended, self._decided),
            ("requests", "ended requests", "decisions"),
            strict=True,
        ):
            if n != told:
                raise Broken(last_seq, f"the {what} are not those that the events name")

    def _check_request(self, event: Event, data: dict[str, Any], row: dict[str, Any]) -> None:
        self._requested += 1
        came_from = self._came_from(event)
        if row["imported"] != (came_from is not None):
            raise Broken(event.seq, "where the request it names was made was altered")
        sealed = row | {"workspace_id": came_from} if came_from else row
        if "seal" in data and request_seal(sealed) != data["seal"]:
            raise Broken(event.seq, "the request it names was altered")
        if "seal" in data and row["requested_at"] != event.at:
            raise Broken(event.seq, "the time of the request it names was altered")
        if row["workspace_id"] != self._workspace:
            raise Broken(event.seq, "the request it names lies in another workspace")
        if row["status"] == "pending" and any(
            row[name] not in ("", None)
            for name in _ANSWER
            if name not in ("status", "requested_at", "imported")
        ):
            raise Broken(event.seq, "the request it names is open and yet answered")

    def _came_from(self, event: Event) -> UUID | None:
        """The workspace in which an event was written; None for this one: imports name theirs."""
        if self._imports is None:
            self._imports = queries.imports_of(self._thread)
        return next((place for last, place in self._imports if last >= event.seq), None)

    def _check_decision(
        self, event: Event, data: dict[str, Any], row: dict[str, Any], found: dict[str, Any] | None
    ) -> None:
        if found is None or found["approval_id"] != row["id"]:
            raise Broken(event.seq, "the decision it names is missing")
        content = decision_content(
            approval=found["approval_id"],
            reviewer=found["reviewer"],
            verdict=found["verdict"],
            proposal_hash=found["proposal_hash"],
            comment=found["comment"],
            args=found["args"],
        )
        digest = sha256(found["salt"] + content).digest()
        if not (digest == found["hash"] and digest.hex() == data["decision_hash"]):
            raise Broken(event.seq, "the decision it names was altered")
        told = (found["reviewer"], found["reviewer_name"], found["workspace_id"], found["at"])
        at = row["decided_at"] if "decided_at" in data else found["at"]
        if told != (event.actor, data["by_name"], self._workspace, at):
            raise Broken(event.seq, "who decided, or when, was altered")
        repeated = (found["verdict"], found["comment"], found["proposal_hash"], found["args"])
        if repeated != (
            row["outcome"],
            row["comment"],
            row["proposal_hash"],
            row["decided_args"],
        ):
            raise Broken(event.seq, "the request it names does not repeat its decision")
        self._decided += 1


def _check_end(event: Event, data: dict[str, Any], row: dict[str, Any]) -> None:
    if row["status"] not in _ENDS[K(event.kind)]:
        raise Broken(event.seq, "the request it names was opened again")
    if "decided_at" in data and row["decided_at"] != datetime.fromisoformat(data["decided_at"]):
        raise Broken(event.seq, "the time at which the request ended was altered")
    if event.kind == K.APPROVAL_DECIDED:
        expected = (data["verdict"], data["comment"], event.actor, data["by_name"])
        effective = data.get("effective_at")
        if effective and row["effective_at"] != datetime.fromisoformat(effective):
            raise Broken(event.seq, "the time at which the decision counts was altered")
    else:
        expected = ("", data.get("reason", ""), "", "")
        if row["effective_at"] is not None or row["decided_args"] is not None:
            raise Broken(event.seq, "the request it names was never decided")
    stands = (row["outcome"], row["comment"], row["decided_by"], row["decided_by_name"])
    if stands != expected:
        raise Broken(event.seq, "the end of the request it names was altered")


def _ids(naming: Sequence[tuple[Event, dict[str, Any]]], key: str) -> list[UUID]:
    return [UUID(data[key]) for _, data in naming if key in data]


def _rows(
    table: str, columns: Sequence[str], key: str, wanted: Sequence[UUID]
) -> dict[UUID, dict[str, Any]]:
    if not wanted:
        return {}
    selected = ", ".join(f"{name}::text" if name in _JSON else name for name in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {selected} FROM {table} WHERE {key} = ANY(%s::uuid[])", [list(wanted)]
        )
        rows = [dict(zip(columns, values, strict=True)) for values in cursor.fetchall()]
    for row in rows:
        for name, value in row.items():
            if isinstance(value, memoryview):
                row[name] = bytes(value)
            elif name in _JSON and value is not None:
                row[name] = deltas.decode(value)
    return {row[key]: row for row in rows}
