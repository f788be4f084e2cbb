"""Outlines of large states that this process has read lately: what a page shows of them.

The page of a long thread is looked at again and again, also after each step, and shows the ends of
its lists. A state is read as a whole once; its outline has all channels, but of a long list only
the first and the newest items as they are. What a checkpoint holds never changes, so the outline at
a later one follows from the deltas in between. An outline is never used once content of a thread
that it comes from has been erased.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from checkpoints import queries
from checkpoints.queries.erasures.requests import erased_among
from checkpoints.state import deltas
from checkpoints.views import CheckpointRow

from .state_document import files_in

# Bytes of a state whose outline is kept: to read a smaller one costs less.
LEAST: Final = 64 * 1024
# Items of a long list that are kept as they are, at its beginning and at its end: more than a page
# draws of it, and of a conversation all that the page with the newest messages may show.
FIRST, LAST = 40, 200
# Characters of an outline, of all outlines of the process together, of a text of an old item.
OUTLINE_MAX, TOTAL_MAX, TEXT_MAX = 1_000_000, 8_000_000, 32
STEPS: Final = 50  # deltas that are read to bring one up to date


@dataclass(frozen=True, slots=True)
class Shortened:
    """A long list: the files that it refers to; its items before `end` stand shortened."""

    files: tuple[dict[str, Any], ...]
    end: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The outline of the state at a checkpoint, by its id and number.

    Contents of `threads` are in it: its own and those that it was forked from.
    """

    checkpoint: UUID
    number: int
    state: dict[str, Any]
    shortened: Mapping[str, Shortened]
    threads: Sequence[UUID]
    weight: int = 0

    @property
    def files(self) -> dict[str, tuple[dict[str, Any], ...]]:
        """{channel: the files that it refers to} of the channels whose lists are shortened."""
        return {name: one.files for name, one in self.shortened.items()}


_lock = threading.Lock()
_recent: OrderedDict[UUID, Outline] = OrderedDict()


def remember(row: CheckpointRow, state: Mapping[str, Any]) -> None:
    """Keep the outline of the state before a checkpoint, read as a whole; one for each thread."""
    if row.parent is None or row.parent_number is None:
        return
    threads = [owner for owner, *_ in queries.branch_ranges(row.thread, row.parent)]
    _keep(row.thread, Outline(row.parent, row.parent_number, dict(state), {}, threads))


def step(row: CheckpointRow) -> tuple[Outline, Outline] | None:
    """The outlines before a checkpoint and at it, from deltas; None where they can't be had.

    They can where the checkpoint is not much newer than what is kept of its thread, and where long
    lists were only appended to since.
    """
    with _lock:
        known = _recent.get(row.thread)
    if known is None or not 0 < row.number - known.number <= STEPS:
        return None
    if erased_among(known.threads):
        with _lock:
            _recent.pop(row.thread, None)
        return None
    rows = queries.deltas_from(row.thread, known.number + 1, limit=row.number - known.number)
    lineage = [known.checkpoint, *(one.id for one in rows)]
    if lineage != [*(one.parent for one in rows), row.id]:
        return None  # another branch, or too many bytes for one read
    before, after = known, known
    for one in rows:
        result = _after(after, one)
        if result is None:
            return None
        before, after = after, result
    if before is not known:
        _keep(row.thread, before)
    return before, after


def _after(outline: Outline, row: CheckpointRow) -> Outline | None:
    changed = {name for op, body in row.delta.items() if op != "append" for name in body}
    if changed & outline.shortened.keys():
        return None  # its items are not known
    appended = row.delta.get("append", {})
    shortened = {
        name: Shortened((*known.files, *files_in(appended.get(name, []))), known.end)
        for name, known in outline.shortened.items()
    }
    state = deltas.apply(outline.state, row.delta)
    return Outline(row.id, row.number, state, shortened, outline.threads)


def _keep(thread: UUID, outline: Outline) -> None:
    """Shorten its long lists and keep it, if it is light enough; the oldest ones go for it."""
    state, shortened = dict(outline.state), dict(outline.shortened)
    for name, value in outline.state.items():
        if isinstance(value, list) and len(value) > FIRST + 2 * LAST:
            known = shortened.get(name) or Shortened(tuple(files_in(value)), FIRST)
            end = max(len(value) - LAST, known.end)
            shorter = [_shortened(item) for item in value[known.end : end]]
            state[name] = [*value[: known.end], *shorter, *value[end:]]
            shortened[name] = Shortened(known.files, end)
    weight = len(json.dumps(state))
    with _lock:
        _recent.pop(thread, None)
        if weight <= OUTLINE_MAX:
            _recent[thread] = replace(outline, state=state, shortened=shortened, weight=weight)
        while sum(one.weight for one in _recent.values()) > TOTAL_MAX:
            _recent.popitem(last=False)


def _shortened(item: Any) -> Any:
    """Shorten an old item: of an object stays what may name it among the others."""
    if isinstance(item, Mapping):
        return {key: _short(value) for key, value in item.items()}
    return _short(item)


def _short(value: Any) -> Any:
    if isinstance(value, str):
        # As different from others as the whole text is.
        return value if len(value) <= TEXT_MAX else f"{value[:TEXT_MAX]}{hash(value)}"
    return "" if isinstance(value, Mapping | list) else value
