"""A thread's approvals and decisions beside the events that name them, for its verification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from itertools import batched
from typing import Any
from uuid import UUID

from django.db import connection

from approvals.columns import APPROVAL, DECISION
from approvals.gates import decision_content, request_seal
from approvals.rules.terms import readable_terms
from approvals.rules.votes import Vote, progress
from checkpoints import queries
from checkpoints.chain import Broken, Event
from checkpoints.state import deltas
from checkpoints.states import EventKind as K
from checkpoints.states import Proof, kinds_of
from checkpoints.tables.listed import Columns

# What ends a request for good; of `approval.decided` only what cannot be taken back.
_FINAL = frozenset({"settled", "expired", "withdrawn"})
_VERDICTS = frozenset({K.APPROVAL_DECIDED, K.DECISION_RECORDED, K.DECISION_TAKEN_BACK})
_NAMING = kinds_of(Proof.REQUEST)
_CARRIED_OUT = {str(K.OPERATION_DONE): "done", str(K.OPERATION_FAILED): "failed"}
# Each with what is wrong when it is not what the events say.
_COMPARED = {
    "status": "the request it names does not stand where its events left it",
    "decided_at": "the time at which the request ended was altered",
    "effective_at": "the time at which the decision counts was altered",
    "decide_by": "the time until which the request can be decided was altered",
    "escalated_at": "the time at which others were called in was altered",
    "standing_args": "the arguments that an edit put in place were altered",
    "standing_hash": "the hash of what an edit put in place was altered",
    "outcome": "the end of the request it names was altered",
    "what_next": "the end of the request it names was altered",
    "comment": "the end of the request it names was altered",
    "decided_by": "the end of the request it names was altered",
    "decided_by_name": "the end of the request it names was altered",
    "decided_args": "the request it names does not repeat its decision",
    "tally": "who has voted on the request it names was altered",
    "due_seats": "whose turn it is in the request it names was altered",
    "due_except": "whose turn it is in the request it names was altered",
}
_OPEN: dict[str, Any] = {
    "status": "pending",
    "outcome": "",
    "what_next": "",
    "comment": "",
    "decided_by": "",
    "decided_by_name": "",
    "decided_at": None,
    "decided_args": None,
    "effective_at": None,
}
# Beside these: how often it was reminded of, which former versions did not record.
_OPEN_ANSWER = APPROVAL.only("id", "terms", *_COMPARED, "requested_at", "imported", "reminded")
_AT_ONCE = 200
# Seconds: the sweep reads its clock a little before it writes.
_ROUNDED = 1.0


@dataclass(slots=True)
class _RequestState:
    """The state of one request according to its events; `edits` are arguments by their hash.

    Times that older events did not record are not compared.
    """

    seq: int
    columns: dict[str, Any]
    untold: set[str] = field(default_factory=set)
    reminded: int = 0
    votes: list[Vote] = field(default_factory=list)
    edits: dict[str, Any] = field(default_factory=dict)


class Approvals:
    """Follows each request through the events that name it, and compares where it stands.

    Only what is still open is kept in memory.
    """

    def __init__(self, thread: UUID, workspace: UUID) -> None:
        self._thread = thread
        self._workspace = workspace
        self._requested = self._ended = self._decided = 0
        self._imports: list[tuple[int, UUID]] | None = None
        self._open: dict[UUID, _RequestState] = {}
        self._operations: dict[UUID, tuple[str, str]] = {}

    def see(self, events: Sequence[Event]) -> None:
        """Check what these events name; raises Broken."""
        named = [(e, deltas.decode(e.data)) for e in events if e.kind in _NAMING]
        naming = [(e, data) for e, data in named if "approval" in data]
        for event in events:
            if event.kind in _CARRIED_OUT and self._came_from(event) is None:
                data = deltas.decode(event.data)
                outcome = (_CARRIED_OUT[event.kind], data["said"])
                self._operations[UUID(data["approval"])] = outcome
        rows = _rows(APPROVAL.proved, _ids(naming, "approval"))
        decided = _rows(DECISION.proved, _ids(naming, "decision"))
        for event, data in naming:
            ident = UUID(data["approval"])
            row = rows.get(ident)
            if row is None or row["thread_id"] != self._thread:
                raise Broken(event.seq, "the request it names is missing")
            if event.kind == K.APPROVAL_REQUESTED:
                self._check_request(event, data, row)
                begins = {"standing_args": None, "standing_hash": "", "decide_by": None}
                self._open[ident] = _RequestState(
                    event.seq, _OPEN | begins | {"escalated_at": None}
                )
                continue
            request = self._open.get(ident)
            if request is None:
                raise Broken(event.seq, "the request it names was opened again")
            request.seq = event.seq
            result = None
            if event.kind in _VERDICTS:
                result = decided.get(UUID(data["decision"]))
                self._check_decision(event, data, row, result)
            _follow(request, event, data, result)
            if request.columns["status"] in _FINAL:
                self._compare(request, row)
                self._ended += 1
                del self._open[ident]

    def end(self, last_seq: int) -> None:
        """Compare what is still open; refuse what no event names; raises Broken."""
        for some in batched(list(self._open), _AT_ONCE):
            rows = _rows(_OPEN_ANSWER, some)
            for ident in some:
                request = self._open[ident]
                if ident not in rows:
                    raise Broken(request.seq, "the request it names is missing")
                self._compare(request, rows[ident])
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*), count(*) FILTER (WHERE status NOT IN ('pending', 'held')), "
                "(SELECT count(*) "
                "FROM gp_decision d JOIN gp_approval a ON a.id = d.approval_id "
                "WHERE a.thread_id = %s::uuid) FROM gp_approval WHERE thread_id = %s::uuid",
                (self._thread, self._thread),
            )
            counts = cursor.fetchone()
            cursor.execute(
                "SELECT c.approval_id, c.outcome, c.said FROM gp_carried_out c JOIN gp_approval a "
                "ON a.id = c.approval_id WHERE a.thread_id = %s::uuid AND NOT a.imported",
                (self._thread,),
            )
            done = {ident: (outcome, message) for ident, outcome, message in cursor.fetchall()}
        if done != self._operations:
            raise Broken(last_seq, "the outcomes of approved operations differ from the events")
        for n, payload, what in zip(
            counts,
            (self._requested, self._ended, self._decided),
            ("requests", "ended requests", "decisions"),
            strict=True,
        ):
            if n != payload:
                raise Broken(last_seq, f"the {what} are not those that the events name")

    def _compare(self, request: _RequestState, row: dict[str, Any]) -> None:
        current = request.columns | _counted(request, row)
        for name, message in _COMPARED.items():
            if name not in request.untold and row[name] != current[name]:
                raise Broken(request.seq, message)
        # A former version reminded without an event: it may have sent as many as were due by then.
        # Of what came with a capsule nobody is reminded here.
        least, most = (0, 0) if row["imported"] else (request.reminded, _due(row))
        if not least <= row["reminded"] <= max(least, most):
            raise Broken(request.seq, "how often people were reminded of it was altered")

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

    def _came_from(self, event: Event) -> UUID | None:
        """The workspace in which an event was written; None for this one: imports name theirs."""
        if self._imports is None:
            self._imports = queries.imports_of(self._thread)
        return next((workspace for last, workspace in self._imports if last >= event.seq), None)

    def _check_decision(
        self,
        event: Event,
        data: dict[str, Any],
        row: dict[str, Any],
        results: dict[str, Any] | None,
    ) -> None:
        if results is None or results["approval_id"] != row["id"]:
            raise Broken(event.seq, "the decision it names is missing")
        content = decision_content(
            approval=results["approval_id"],
            reviewer=results["reviewer"],
            verdict=results["verdict"],
            proposal_hash=results["proposal_hash"],
            comment=results["comment"],
            args=results["args"],
            what_next=results["what_next"],
            for_person=results["for_person"],
        )
        digest = sha256(results["salt"] + content).digest()
        if not (digest == results["hash"] and digest.hex() == data["decision_hash"]):
            raise Broken(event.seq, "the decision it names was altered")
        payload = (
            results["reviewer"],
            results["reviewer_name"],
            results["workspace_id"],
            results["at"],
        )
        # Events of versions that recorded no times leave it open.
        at = _time(data.get("decided_at") or data.get("at")) or results["at"]
        if payload != (event.actor, data["by_name"], self._workspace, at):
            raise Broken(event.seq, "who decided, or when, was altered")
        message = (
            results["verdict"],
            results["comment"],
            results["proposal_hash"],
            results["what_next"],
            results["for_person"],
        )
        if message != (
            data["verdict"],
            data.get("comment", ""),
            data.get("proposal_hash", row["proposal_hash"]),
            data.get("what_next", ""),
            data.get("for", ""),
        ):
            raise Broken(event.seq, "the decision it names is not the one that it names")
        self._decided += 1


def _follow(
    request: _RequestState, event: Event, data: dict[str, Any], results: dict[str, Any] | None
) -> None:
    """Take over what an event says of a request."""
    current = request.columns
    if results is not None:
        of_vote = ("reviewer", "reviewer_name", "verdict", "proposal_hash", "for_person")
        columns = {name: results[name] for name in of_vote}
        request.votes.append(Vote(results["id"], **columns))
    if results is not None and results["verdict"] == "edit":
        request.edits[data["standing_hash"]] = results["args"]
        current |= {"standing_args": results["args"], "standing_hash": data["standing_hash"]}
    match event.kind:
        case K.APPROVAL_DECIDED if results is not None:
            outcome = data.get("outcome", results["verdict"])
            standing_args = current["standing_args"] if outcome == "edit" else results["args"]
            current |= {
                "status": "held" if data.get("held") else "settled",
                "outcome": outcome,
                "what_next": results["what_next"],
                "comment": results["comment"],
                "decided_by": event.actor,
                "decided_by_name": data["by_name"],
                "decided_args": standing_args,
                # Before the event recorded times, the row repeated that of its decision.
                "decided_at": results["at"],
                "effective_at": _time(data.get("effective_at")),
            }
            if "effective_at" not in data:
                request.untold.add("effective_at")
        case K.DECISION_TAKEN_BACK:
            back = data["standing_hash"]
            current |= _OPEN | {"standing_hash": back, "standing_args": request.edits.get(back)}
        case K.APPROVAL_REMINDED:
            request.reminded = data["reminder"]
        case K.APPROVAL_SETTLED:
            current["status"] = "settled"
        case K.APPROVAL_ESCALATED:
            current |= {name: _time(data[name]) for name in ("decide_by", "escalated_at")}
        case K.APPROVAL_EXPIRED | K.APPROVAL_WITHDRAWN:
            ends = "expired" if event.kind == K.APPROVAL_EXPIRED else "withdrawn"
            current |= _OPEN | {"status": ends, "comment": data.get("reason", "")}
            current["decided_at"] = _time(data.get("decided_at"))
            if "decided_at" not in data:
                request.untold.add("decided_at")


def _counted(request: _RequestState, row: dict[str, Any]) -> dict[str, Any]:
    """Compute the votes and the turn from the decisions that the events name."""
    escalated = request.columns["escalated_at"] is not None
    now = progress(readable_terms(row["terms"]), request.votes, escalated=escalated)
    return (now if request.columns["status"] == "pending" else now.closed()).columns


def _due(row: dict[str, Any]) -> int:
    """Count the reminders of a request that can have been sent by its end, or by now."""
    times = (row["terms"] or {}).get("reminders") or ()
    if not times:
        return 0
    age = ((row["decided_at"] or _now()) - row["requested_at"]).total_seconds()
    return sum(1 for seconds in times if seconds <= age + _ROUNDED)


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _ids(naming: Sequence[tuple[Event, dict[str, Any]]], key: str) -> list[UUID]:
    return [UUID(data[key]) for _, data in naming if key in data]


def _rows(columns: Columns, wanted: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    """{id: row} of those of a table that are there, stored JSON decoded."""
    if not wanted:
        return {}
    sql = f"SELECT {columns.select()} FROM {columns.table} WHERE id = ANY(%s::uuid[])"
    with connection.cursor() as cursor:
        cursor.execute(sql, [list(wanted)])
        results = [columns.row(values) for values in cursor.fetchall()]
    for row in results:
        row |= {name: deltas.decode(row[name]) for name in columns.json if row[name] is not None}
    return {row["id"]: row for row in results}
