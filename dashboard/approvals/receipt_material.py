"""Read what a proposal is compared with: recorded outputs and what people entered before it.

Bounded: calls, bytes, files and entries each have a limit, and what is left out is counted.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from approvals import queries as gates
from approvals.queries import ApprovalRow, WordsRow
from approvals.rules.receipts.leaves import leaves
from approvals.rules.receipts.sources import File, Source
from checkpoints import payloads, queries
from checkpoints.errors import GatepostError
from checkpoints.queries import EntryRow, OutputRow
from checkpoints.state import deltas
from dashboard.html.differences import is_file

FILE_BYTES: Final = 256 * 1024  # a larger file is not read
FILES_BYTES: Final = 384 * 1024  # of all files together
FILES: Final = 20
STATE_BYTES: Final = 512 * 1024  # of a state that an edit is compared with
EDITS: Final = 5
REFERENCE: Final = '"$artifact"'
NOTHING: Final = ("{}", "[]", "null")
_READ: Final = ("text/", "application/json")


@dataclass(slots=True)
class Material:
    """Sources that were read, by their ids, and how much was not."""

    outputs: list[Source] = field(default_factory=list)
    entries: list[Source] = field(default_factory=list)
    calls: dict[UUID, OutputRow] = field(default_factory=dict)
    points: dict[UUID, EntryRow] = field(default_factory=dict)
    verdicts: dict[UUID, WordsRow] = field(default_factory=dict)
    unread_calls: int = 0
    unread_files: int = 0
    unread_entries: int = 0
    bytes_of_files: int = 0
    capped: bool = False  # whether there are older calls than those looked at


def read_material(row: ApprovalRow) -> Material:
    """Read what was there when a proposal was made: all that its values can come from."""
    material = Material()
    point = queries.newest_before(row.thread, branch=row.branch, at=row.requested_at)
    if point is not None:
        files = _Files(row.workspace, material)
        calls = queries.outputs_before(row.thread, point, at=row.requested_at)
        material.capped = len(calls) == queries.CALLS_READ
        # The newest calls have the first claim on the files that may be read.
        read = [
            (call.exchanged, source)
            for call in reversed(calls)
            if (source := _output(call, files, material))
        ][::-1]
        material.outputs = [source for exchanged, source in read if not exchanged]
        material.entries = [source for exchanged, source in read if exchanged]
        _entries(row, point, files, material)
    _verdicts(row, material)
    return material


def _output(call: OutputRow, files: _Files, material: Material) -> Source | None:
    if call.result is None or call.args is None:
        material.unread_calls += 1
        return None
    material.calls[call.id] = call
    texts: tuple[File, ...] = ()
    if REFERENCE in call.result:
        passed_on = {ref["$artifact"] for ref in _references(deltas.decode(call.args))}
        made = _references(deltas.decode(call.result))
        read = (files.read(ref) for ref in made if ref["$artifact"] not in passed_on)
        texts = tuple(text for text in read if text)
    args = "" if call.args in NOTHING else call.args
    return Source(call.id, call.result, args, texts)


def _entries(row: ApprovalRow, point: UUID, files: _Files, material: Material) -> None:
    edits = 0
    for entry in queries.entered_before(row.thread, point):
        before: Any = None
        if entry.channels is not None:
            before = {name: spec.get("default") for name, spec in entry.channels.items()}
        elif entry.source != "input":
            edits += 1
            if edits > EDITS or entry.bytes_before > STATE_BYTES or entry.parent is None:
                material.unread_entries += 1
                continue
            try:
                before = queries.state_at(entry.parent_thread or entry.thread, entry.parent)
            except GatepostError:
                material.unread_entries += 1
                continue
        if entry.delta is None or "put" in entry.delta:
            material.unread_entries += 1
        delta = entry.delta or {}
        values = [v for op in ("set", "append", "merge") for v in _named(delta.get(op))]
        value = entered([dict(values)], before)
        material.points[entry.id] = entry
        texts = tuple(text for ref in _references(value) if (text := files.read(ref)))
        material.entries.append(Source(entry.id, _json(value), files=texts))


def _named(changes: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(changes, Mapping):
        yield from changes.items()


def _verdicts(row: ApprovalRow, material: Material) -> None:
    for words in gates.words_in_thread(row, args_bytes=FILE_BYTES):
        value: list[Any] = []
        if words.reviewer.startswith("user:") and "/agent:" not in words.reviewer:
            if words.args is not None:
                former = None if words.kind == "question" else words.asked_args
                value.append(entered(words.args, former))
            # What is remarked on this very request cannot be where its values come from.
            if words.comment and words.approval != row.id:
                value.append(words.comment)
        if value:
            material.verdicts[words.id] = words
            material.entries.append(Source(words.id, _json(value)))


def entered(new: Any, old: Any) -> list[Any]:
    """Return what a person wrote that did not stand there before, object by object.

    Who edits one value of a list writes the whole list: the other values are not theirs.
    """
    former = {(leaf.key, repr(leaf.value)) for leaf in leaves(old)} if old is not None else set()
    if isinstance(new, str):
        return [] if any(value == repr(new) for _, value in former) else [new]
    groups: dict[int, dict[str, Any]] = defaultdict(dict)
    for leaf in leaves(new):
        if (leaf.key, repr(leaf.value)) in former:
            continue
        group = groups[leaf.group]
        if leaf.key in group:
            several = group[leaf.key]
            before = several if isinstance(several, list) else [several]
            group[leaf.key] = [*before, leaf.value]
        else:
            group[leaf.key] = leaf.value
    return list(groups.values())


def _references(value: Any) -> Iterator[Mapping[str, Any]]:
    """References to files anywhere in a value, each once."""
    seen: set[str] = set()
    stack = [value]
    while stack:
        held = stack.pop()
        if is_file(held):
            if held["$artifact"] not in seen:
                seen.add(held["$artifact"])
                yield held
        elif isinstance(held, Mapping):
            stack += held.values()
        elif isinstance(held, list):
            stack += held


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class _Files:
    """Reads files of a workspace, each once, up to the limits; the others are counted."""

    def __init__(self, workspace: UUID, material: Material) -> None:
        self._workspace, self._material = workspace, material
        self._read: dict[str, File | None] = {}

    def read(self, ref: Mapping[str, Any]) -> File | None:
        """A file as text; None where it is no text, too large, or does not match its hash."""
        sha = str(ref["$artifact"])
        if sha not in self._read:
            self._read[sha] = self._file(sha, ref)
            if self._read[sha] is None and _is_text(ref):
                self._material.unread_files += 1
        return self._read[sha]

    def _file(self, sha: str, ref: Mapping[str, Any]) -> File | None:
        size = ref.get("size")
        known = self._material.bytes_of_files
        if not _is_text(ref) or not isinstance(size, int) or size > FILE_BYTES:
            return None
        if known + size > FILES_BYTES or len(self._read) >= FILES:
            return None
        try:
            row = queries.artifact(sha, workspace=self._workspace)
            if row.size > FILE_BYTES:
                return None
            with payloads.opened(row) as file:
                raw = file.read()
        except GatepostError:
            return None
        self._material.bytes_of_files += len(raw)
        name, kind = str(ref.get("name") or row.name), str(ref.get("media_type") or row.media_type)
        return File(name, kind, raw.decode("utf-8", "replace"))


def _is_text(ref: Mapping[str, Any]) -> bool:
    return str(ref.get("media_type", "")).startswith(_READ)
