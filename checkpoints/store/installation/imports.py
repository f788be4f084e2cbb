"""Threads from a capsule: their rows are written as they were, ids, times, salts and hashes kept.

To be called in one transaction that ends with a verification of every thread written: what does
not hold is rolled back, so nobody ever sees it. No worker can touch the threads meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from django.db import connection
from uuid_utils.compat import uuid7

from checkpoints.agent_versions import is_of_gateway, version_id
from checkpoints.capsules.layout import BadCapsule
from checkpoints.errors import NotAllowedNow
from checkpoints.log import control_columns
from checkpoints.log.pins import pinned_after
from checkpoints.postgres.inserts import insert_rows
from checkpoints.state import deltas
from checkpoints.state.channels import Digests, reducers_of
from checkpoints.state.searchable import column_of, searchable_of
from checkpoints.states import FINISHED, EventKind, Status
from checkpoints.tables.columns import (
    ACTIVITY,
    AGENT_VERSION,
    ARTIFACT,
    CHECKPOINT,
    CONTENT,
    EVENT,
    THREAD,
)

from ..activities import NAMING_V, WRITTEN, as_written, name_activity, seal_of
from ..cursors import bring_cursors
from ..keyframes import keep_state
from ..starts import ROW_DEFAULTS, insert_thread
from ..statement.moves import Move, NewCheckpoint, NewEvent, first_checkpoint, perform
from ..statement.searchable import column_at
from .imported_figures import note_figures

DESCRIPTION_MAX = 20_000
LOST = "It was at work when the thread was exported; nobody here knows whether it happened."


def import_agent_version(row: Mapping[str, Any], *, workspace: UUID) -> None:
    """Keep an agent version for the threads of one capsule, unless its very content is known.

    Its id follows from its content, and the checkpoints of the capsule name it in their hashes: so
    no other content can come under it. No list shows it, and no thread is started with it, before
    a worker announces the same. Raises BadCapsule.
    """
    content = {
        name: deltas.decode(row[name]) if name in AGENT_VERSION.json else row[name]
        for name in AGENT_VERSION.sealed
    }
    if version_id(content) != row["id"]:
        raise BadCapsule(f"The capsule describes {row['agent']} otherwise than its id says.")
    if len(row["description"]) > DESCRIPTION_MAX:
        raise BadCapsule(f"The capsule describes {row['agent']} at too great length.")
    with connection.cursor() as cursor:
        sql = AGENT_VERSION.only(*AGENT_VERSION.exported, "imported_into").insert
        cursor.execute(f"{sql} ON CONFLICT (id) DO NOTHING", {**row, "imported_into": workspace})


def import_artifact(row: Mapping[str, Any], *, workspace: UUID, path: str) -> None:
    """Keep the row of a file whose bytes lie at `path`, unless the workspace has it."""
    values = {**row, "id": uuid7(), "workspace_id": workspace, "path": path}
    with connection.cursor() as cursor:
        cursor.execute(f"{ARTIFACT.only(*values).insert} ON CONFLICT DO NOTHING", values)


# What is kept until the thread takes it, with the kind of the row that keeps it.
_WAKE_KINDS: Final[dict[str, str]] = {
    EventKind.INPUT_RECEIVED: "input",
    EventKind.SIGNAL_RECEIVED: "signal",
}


def import_thread(
    row: Mapping[str, Any],
    *,
    workspace: UUID,
    name: str | None,
    actor: str,
    events: Iterable[Mapping[str, Any]],
    checkpoints: Iterable[Mapping[str, Any]],
    contents: Iterable[tuple[str, bytes]],
    activities: Iterable[Mapping[str, Any]],
    cursors: Iterable[Mapping[str, Any]],
    inputs: Iterable[str],
    files: Mapping[str, int],
    lineage: Mapping[str, Any],
) -> None:
    """Write a thread with its history; parameters by column, as `capsules.rows` reads them.

    `files` are the bytes of each file that is there, `inputs` the messages and signals not taken
    yet, `lineage` are parent, root and depth among the threads that come along. Contents
    (hash, canonical JSON) lie in the database afterwards, whatever the agent chose: so they come
    in the one transaction. Ended and failed ones stand as they stood, `rolling_back` needs a
    person, all others are paused; a pin holds here too, an effect asks first. Its importer
    counts as its initiator: the ids of people are those of another installation. Raises
    NotAllowedNow where the thread or its name is here already.
    """
    log = _Log(files)
    ids = {"thread_id": row["id"], "workspace_id": workspace}
    insert_rows(EVENT, log.seen(events), **ids)
    if not _insert_thread({**_thread_values(row, workspace, name, actor, log), **lineage}):
        raise NotAllowedNow(
            "This thread, or another of its agent and name, is here already; look at it, or give "
            "the imported one another name (--name)."
        )
    insert_rows(CHECKPOINT, _ways(row, checkpoints), **ids)
    with connection.cursor() as cursor:
        for sha, raw in contents:
            cursor.execute(CONTENT.insert, {**ids, "sha256": sha, "body": raw.decode()})
    insert_rows(ACTIVITY, activities, **ids)
    bring_cursors(row["id"], cursors, workspace=workspace)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_thread th SET branch_start = c.branch_start, next_nodes = c.next_nodes, "
            "searchable = %s::jsonb FROM gp_checkpoint c WHERE th.id = %s::uuid "
            "AND c.thread_id = th.id AND c.id = th.head",
            (_searchable(row), row["id"]),
        )
        for ref in inputs:
            if ref not in log.received:
                raise BadCapsule(f"The capsule names a message {ref!r} that was never received.")
            cursor.execute(
                "INSERT INTO gp_wake (thread_id, kind, ref) VALUES (%s::uuid, %s::varchar, %s) "
                "ON CONFLICT DO NOTHING",
                (row["id"], log.received[ref], ref),
            )
    note_figures(row["id"], workspace=workspace)


def note_import(thread: UUID, *, data: Mapping[str, Any], actor: str) -> None:
    """Log where a thread came from, after its effects at work were noted as unknown."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {WRITTEN.select()} FROM gp_activity WHERE thread_id = %s::uuid "
            "AND state = 'started' AND kind = 'effect'",
            (thread,),
        )
        rows = cursor.fetchall()
    for values in rows:
        activity = as_written(WRITTEN.row(values))
        move = Move(thread)
        move.updates = [
            (
                "UPDATE gp_activity a SET state = 'unknown', error = %s::text, "
                "finished_at = t.last_at FROM t WHERE a.id = %s::uuid AND a.thread_id = t.id",
                (LOST, activity.id),
            )
        ]
        payload = name_activity(activity) | {
            "state": "unknown",
            "seal": seal_of(activity, "unknown", result=None, error=LOST, usage=activity.usage),
            "error": LOST,
        }
        move.events = [NewEvent(EventKind.EFFECT_FAILED, payload, actor, NAMING_V)]
        perform(move)
    payload = {**data, "row": _row(thread)}
    perform(Move(thread, events=[NewEvent(EventKind.THREAD_IMPORTED, payload, actor)]))


def _row(thread: UUID) -> dict[str, Any]:
    """Read the columns of a thread's row that an import may set otherwise than its log."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, queue, labels::text, pause_at, effects, parent, root, depth, title, "
            "status FROM gp_thread WHERE id = %s::uuid",
            (thread,),
        )
        row = cursor.fetchone()
    name, queue, labels, pause_at, effects, parent, root, depth, title, status = row
    return control_columns.event_of(
        name=name,
        queue=queue,
        labels=deltas.decode(labels),
        pause_at=pause_at,
        effects=effects,
        parent=parent,
        root=root,
        depth=depth,
        title=title,
    ) | {"status": status}


def import_checkpoint(
    row: Mapping[str, Any],
    point: Mapping[str, Any],
    state: Mapping[str, Any],
    *,
    workspace: UUID,
    name: str | None,
    config: Mapping[str, Any] | None,
    origin: Mapping[str, Any],
    actor: str,
) -> UUID:
    """Begin a thread with the state of one checkpoint, paused; its id.

    1. Check the state against the checkpoint's hash; raises BadCapsule where it does not fit.
    2. Insert the thread with the state as its first checkpoint.
    3. Pin it to the code of this checkpoint where its thread was pinned to that.
    4. Log where it came from.

    Step and next nodes are those of the checkpoint; what was recorded of the step in progress is
    not there. Raises NotAllowedNow where the name is taken.
    """
    deltas.check(state)
    agent, queue, channels = _described_agent(point)
    digests = Digests.of(dict(state), reducers_of(channels))
    if digests.root != point["state_hash"]:
        raise BadCapsule("The state in the capsule does not match the hash of its checkpoint.")
    thread: UUID = uuid7()
    checkpoint = first_checkpoint(
        step=point["step"],
        source="import",
        next_nodes=tuple(deltas.decode(point["next_nodes"])),
        delta={"set": dict(state)},
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=point["schema_version"],
        agent_version=point["agent_version_id"],
        created_by=actor,
        config=dict(config) if config else None,
        digests=digests,
    )
    pinned = bool(row["pinned"]) and row["agent_version_id"] == point["agent_version_id"]
    version = {"agent": agent, "agent_version_id": point["agent_version_id"], "queue": queue}
    own = {"name": _name_here(agent, name), "started_by": actor, "pinned": pinned}
    own["searchable"] = column_of(searchable_of(channels), state)
    _insert_imported(thread, checkpoint, row, {"workspace_id": workspace, **version, **own})
    if pinned:
        perform(Move(thread, events=[NewEvent(EventKind.CODE_PINNED, {}, actor)]))
    note_import(thread, data=origin, actor=actor)
    return thread


def _described_agent(point: Mapping[str, Any]) -> tuple[str, str, Any]:
    """(agent, queue, channels) of a checkpoint's agent version; raises BadCapsule."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT agent, queue, channels::text FROM gp_agent_version WHERE id = %s::uuid",
            (point["agent_version_id"],),
        )
        result = cursor.fetchone()
    if result is None:
        raise BadCapsule("The capsule does not describe the agent of its checkpoint.")
    agent, queue, channels = result
    return agent, queue, deltas.decode(channels)


def _insert_imported(
    thread: UUID, checkpoint: NewCheckpoint, row: Mapping[str, Any], own: Mapping[str, Any]
) -> None:
    """Insert a paused thread; `row` is that of the capsule, `own` what is its own here."""
    version = {"agent": own["agent"], "agent_version": str(own["agent_version_id"])}
    inserted = insert_thread(
        thread=thread,
        checkpoint=checkpoint,
        kind=EventKind.THREAD_STARTED,
        # The event of the import records the row.
        data={**version, "title": row["title"], "row": {}},
        row={
            "title": row["title"],
            "labels": row["labels"],
            "status": str(Status.PAUSED),
            "status_reason": "Imported; resume it to continue from here",
            "effects": "ask",
            **own,
        },
    )
    if not inserted:
        raise NotAllowedNow(
            "Another thread of this agent and name is here already; give the imported one another "
            "name (--name)."
        )


# ------------------------------------------------------------------------------------------------


def _insert_thread(values: Mapping[str, Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"{THREAD.only(*values).insert} ON CONFLICT DO NOTHING", values)
        return bool(cursor.rowcount)


class _Log:
    """Collects the facts that only events prove: files, messages, plan of a rollback, pin."""

    def __init__(self, files: Mapping[str, int]) -> None:
        self._files = files
        self.received: dict[str, str] = {}  # the kind of its wake row by the event's number
        self.plan: Any = None
        self.pinned = False

    def seen(self, events: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        for event in events:
            kind = event["kind"]
            self.pinned = pinned_after(self.pinned, kind, event["data"])
            if kind in _WAKE_KINDS:
                self.received[str(event["seq"])] = _WAKE_KINDS[kind]
            elif kind == EventKind.ROLLBACK_STARTED:
                self.plan = event["data"]
            elif kind == EventKind.ARTIFACT_STORED:
                payload = deltas.decode(event["data"])
                if self._files.get(payload.get("sha256")) != payload.get("size"):
                    raise BadCapsule(f"The capsule lacks the file that event {event['seq']} names.")
            yield event


def _ways(
    row: Mapping[str, Any], checkpoints: Iterable[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """Refuse parents that lead nowhere or round in a circle: reading such a past would not end."""
    for number, point in enumerate(checkpoints):
        parent = (point["parent_thread"], point["parent_number"])
        if point["number"] != number:
            raise BadCapsule(f"Checkpoint {number} is missing in the capsule.")
        own = parent[0] == row["id"] and parent[1] is not None and parent[1] < number
        if not (own if number else parent[0] == row["base"] != row["id"]):
            raise BadCapsule(f"The parent of checkpoint {number} in the capsule cannot be one.")
        if not 0 <= point["branch_start"] <= number:
            raise BadCapsule(f"The branch of checkpoint {number} in the capsule cannot be one.")
        yield point


def _thread_values(
    row: Mapping[str, Any], workspace: UUID, name: str | None, actor: str, log: _Log
) -> dict[str, Any]:
    if row["status"] not in {str(status) for status in Status}:
        raise BadCapsule(f"The capsule's thread has the status {row['status']!r}.")
    was = Status(row["status"])
    ended = was in FINISHED or was is Status.ATTENTION
    values = dict(row)
    if was is Status.ROLLING_BACK:
        current = (Status.ATTENTION, "Imported; it was rolling back. Retry to continue that.")
    elif ended:
        current = (was, row["status_reason"])
    else:
        current = (Status.PAUSED, f"Imported; it was {was} when it was exported")
    if row["rollback"] is not None and row["rollback"] != log.plan:
        raise BadCapsule("The capsule's rollback is not the one that its events record.")
    values |= _DEFAULTS_HERE
    values |= {
        "workspace_id": workspace,
        "name": _name_here(row["agent"], name),
        # One lease more than there was: only under a thread's first one nothing can be recorded.
        "fence": max(row["fence"], 0) + 1,
        "queue": _queue(row["agent_version_id"]),
        "status": str(current[0]),
        "status_reason": current[1],
        "started_by": actor,
        "prev_hash": b"",
        "branch_start": 0,
        "next_nodes": "[]",
        "imported_seq": row["last_seq"],
        "imported_number": row["number"],
    }
    if row["pinned"] is None:  # written before capsules said so; the log always did
        values["pinned"] = log.pinned
    if not ended:
        values["waiting_on"] = None
        del values["status_since"]
    return values


def _name_here(agent: str, name: str | None) -> str | None:
    """The name that an imported thread goes by; the gateway would answer from one of its own."""
    return None if is_of_gateway(agent) else name


_DEFAULTS_HERE = {
    name: ROW_DEFAULTS[name]
    for name in ("wake_seq", "wish", "wish_by", "pause_at", "lease_owner", "crash_count")
} | {"effects": "ask"}


def _queue(version: UUID) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT queue FROM gp_agent_version WHERE id = %s::uuid", (version,))
        row = cursor.fetchone()
    if row is None:
        raise BadCapsule("The capsule does not describe the agent of its thread.")
    return str(row[0])


def _searchable(row: Mapping[str, Any]) -> str | None:
    """The column of this name for an imported thread: its version came along, as did its past."""
    return column_at(row["id"], row["head"], version=row["agent_version_id"])


def keep_head(thread: UUID) -> None:
    """Cache the state of an imported head: its keyframes stayed behind."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT head, number FROM gp_thread WHERE id = %s::uuid", (thread,))
        head, number = cursor.fetchone()
    keep_state(thread, head, number)
