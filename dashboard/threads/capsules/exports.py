"""Writing capsules: a thread with all that it rests on, or one checkpoint with its files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from django.core.files.storage import default_storage

from approvals import capsules as requests
from approvals.verification.integrity import ThreadIntegrity
from checkpoints import payloads, queries
from checkpoints.capsules import layout
from checkpoints.errors import NotAllowedNow
from checkpoints.memories import refs_in
from checkpoints.postgres.snapshots import one_moment
from checkpoints.state import deltas, references
from checkpoints.states import EventKind
from checkpoints.views import CheckpointRow, ThreadRow
from dashboard.documents.json_text import json_of
from dashboard.documents.state_document import files_in, state_answer
from dashboard.documents.yaml_text import yaml_of
from dashboard.identity.permissions import Actor
from dashboard.threads.page.anatomy import anatomy_of

from .memories import MemoriesAlong, memory_lines


@dataclass(frozen=True, slots=True)
class Capsule:
    """A capsule about to be written; `chunks` gives its bytes once, `close` forgets them.

    `children` threads of the tree below are in it, and `left_out` of those next below are not.
    `memories` says how many memories that it refers to came along.
    """

    name: str
    manifest_sha: str
    seq: int
    hash: str
    writer: layout.Writer
    children: int = 0
    left_out: int = 0
    memories: MemoriesAlong = field(default_factory=MemoriesAlong)

    def chunks(self) -> Iterator[bytes]:
        """Its bytes; memory holds one chunk."""
        return self.writer.chunks()

    def close(self) -> None:
        """Forget what was not written."""
        self.writer.close()


def threads_in(thread: UUID, *, bases: bool, children: bool) -> list[UUID]:
    """The threads whose rows a capsule of this one has: itself, its bases, the tree below it."""
    above = [UUID(row["id"]) for row in _bases(queries.thread_row(thread))] if bases else []
    return [thread, *above, *(queries.threads_below(thread) if children else [])]


def capsule_of(
    thread: ThreadRow,
    point: CheckpointRow | None,
    *,
    children: bool = False,
    integrity: Iterable[ThreadIntegrity] = (),
    reader: Actor | None = None,
) -> Capsule:
    """A thread as of one moment with its bases, or only one checkpoint of it.

    With `children` the whole tree below the thread comes along, hand-offs as well. `integrity` is
    what a verification found of its threads, and stands in a member of its own; so do, with a
    `reader`, the memories that the threads refer to, as far as they may see them.

    Rows are collected in a temporary file as of one moment of the database; files are read when
    they are written out, since they never change. Raises NotAllowedNow where one is lost.
    """
    writer = layout.Writer()
    try:
        with one_moment():
            collected = _Collected(writer, thread)
            row = collected.everything(point, children=children)
            along = MemoriesAlong()
            if reader is not None:
                lines, along = memory_lines(reader, collected.memories)
                writer.add_lines(layout.MEMORIES, lines)
            if integrities := [_integrity_line(one) for one in integrity]:
                writer.add_lines(layout.INTEGRITY, integrities)
    except BaseException:
        writer.close()
        raise
    which = f"-checkpoint-{point.number}" if point else ""
    return Capsule(
        name=f"{thread.agent}-{thread.id!s}{which}.zip",
        manifest_sha=layout.sha_of(writer.manifest),
        seq=row["last_seq"],
        hash=row["last_hash"],
        writer=writer,
        children=len(collected.children),
        left_out=len(collected.left_out),
        memories=along,
    )


class _Collected:
    """Members of one capsule, and the files that they refer to."""

    def __init__(self, writer: layout.Writer, thread: ThreadRow) -> None:
        self._writer = writer
        self._thread = thread
        self._files: set[str] = set()
        self._contents: set[str] = set()
        self.memories: set[tuple[UUID, int]] = set()  # with the revision
        self.children: list[UUID] = []
        self.left_out: list[UUID] = []

    def everything(self, point: CheckpointRow | None, *, children: bool) -> dict[str, Any]:
        """Add all members; the thread's row."""
        row = queries.thread_row(self._thread.id)
        bases = [] if point else _bases(row)
        if children:
            self.children = queries.threads_below(self._thread.id)
        elif not point:
            self.left_out = queries.next_below(self._thread.id)
        about = {
            "format": layout.FORMAT,
            "exporter": "gatepost",
            "kind": "checkpoint" if point else "thread",
            "thread": row,
            "checkpoint": point.number if point else None,
            "inputs": [] if point else queries.inputs_waiting(self._thread.id),
            "bases": [base["id"] for base in bases],
            "children": [str(child) for child in self.children],
            "left_out": [str(child) for child in self.left_out],
        }
        self._writer.add_json(layout.THREAD, about)
        self._add_state(point or queries.checkpoint(self._thread.id, self._thread.head))
        versions = set()
        if point:
            versions.add(point.agent_version_id)
            self._add_checkpoints("", [queries.checkpoint_row(self._thread.id, point.number)])
        else:
            self._add_past("", self._thread.id)
            versions |= queries.agent_versions_of(self._thread.id)
        related = [(layout.base_folder(base["id"]), UUID(base["id"])) for base in bases]
        related += [(layout.child_folder(child), child) for child in self.children]
        for folder, thread in related:
            payload: dict[str, Any] = {"bases": [], "children": [], "left_out": []}
            payload |= {"thread": queries.thread_row(thread)}
            payload |= {"inputs": queries.inputs_waiting(thread)}
            self._writer.add_json(folder + layout.THREAD, about | payload)
            self._add_past(folder, thread)
            versions |= queries.agent_versions_of(thread)
        for version in sorted(versions):
            self._writer.add_json(layout.agent_name(version), queries.agent_version_row(version))
        self._add_files()
        return row

    def _add_state(self, point: CheckpointRow) -> None:
        """The whole state for people, in both forms, and its anatomy, as the API answers them."""
        answer = state_answer(self._thread, point)
        self._files |= {ref["$artifact"] for ref in files_in(answer.state)}
        self.memories |= set(refs_in(answer.state))
        text = json_of(answer)
        self._writer.add(layout.STATE, [text.encode(), b"\n"])
        self._writer.add(layout.STATE_YAML, [yaml_of(json.loads(text))])
        anatomy = anatomy_of(self._thread, point, answer.state)
        self._writer.add(layout.ANATOMY, [json_of(anatomy).encode(), b"\n"])

    def _add_past(self, folder: str, thread: UUID) -> None:
        add = self._writer.add_lines
        add(folder + layout.EVENTS, self._noting(queries.event_rows(thread)))
        self._contents.clear()
        self._add_checkpoints(folder, self._noting(queries.checkpoint_rows(thread)))
        for sha in sorted(self._contents):
            raw = payloads.fetched([thread], {sha: 0}).get(sha)
            if raw is None or layout.sha_of(raw) != sha:
                raise NotAllowedNow(f"The content {sha[:12]} is lost; see `verify` for where.")
            self._writer.add(folder + layout.content_name(sha), [raw])
            content = deltas.decode(raw)
            self._files |= {ref["$artifact"] for ref in files_in(content)}
            self.memories |= set(refs_in(content))
        add(folder + layout.ACTIVITIES, self._noting(queries.activity_rows(thread)))
        add(folder + layout.CURSORS, self._noting(queries.cursor_rows(thread)))
        add(folder + layout.APPROVALS, self._noting(requests.approval_rows(thread)))
        add(folder + layout.DECISIONS, self._noting(requests.decision_rows(thread)))

    def _add_checkpoints(self, folder: str, results: Iterable[dict[str, Any]]) -> None:
        for one in results:
            self._writer.add_json(folder + layout.checkpoint_name(one["number"]), one)

    def _noting(self, results: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for row in results:
            self._files |= {ref["$artifact"] for ref in files_in(row)}
            self.memories |= set(refs_in(row))
            if row.get("kind") == EventKind.ARTIFACT_STORED:
                self._files.add(row["data"]["sha256"])
            if put := row.get("delta", {}).get(references.PUT):
                self._contents |= {item["sha256"] for item in put.values()}
            yield row

    def _add_files(self) -> None:
        rows = []
        for sha in sorted(self._files):
            row = queries.artifact_row(sha, workspace=self._thread.workspace)
            if row is None:
                continue  # the state names a file that this workspace never had
            path = row.pop("path")
            if not default_storage.exists(path):
                raise NotAllowedNow(f"The file {row['name']} is lost; see `verify` for where.")
            rows.append(row)
            self._writer.add_file(sha, partial(default_storage.open, path, "rb"))
        self._writer.add_lines(layout.FILES, rows)


def _integrity_line(one: ThreadIntegrity) -> dict[str, Any]:
    row = one.verification
    damaged_from = None if row is None or row.intact else row.broken_seq or 0
    return {
        "thread": str(one.thread),
        "integrity": one.state_at(row.n_events if row and row.intact else damaged_from or 1),
        "verified": 0 if row is None else row.n_events,
        "damaged_from": damaged_from,
        "damage": "" if row is None or row.intact else row.what,
    }


def _bases(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The threads that a fork reads through, the nearest first."""
    results = []
    while row["base"] is not None:
        row = queries.thread_row(UUID(row["base"]))
        results.append(row)
    return results
