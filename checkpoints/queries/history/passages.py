"""Events of a workspace, found by the words of what they record.

An answer reads few of them: the index names the events that have most of the words that are asked
for, rare words first, and only those are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError

from checkpoints.errors import ContentAway, CorruptHistory, InvalidValue, NotFound
from checkpoints.payloads import fetched, opened
from checkpoints.postgres.list_conditions import condition, narrowing, parameters
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.plans import planned_for_this
from checkpoints.postgres.snapshots import one_moment
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import references
from checkpoints.states import EventKind as K
from checkpoints.tables.readers import decoded

from ..installation.fleet import artifact
from . import texts

log = structlog.get_logger("gatepost.history")

# Events that have a word are counted up to this number: a word with more of them is common.
COMMON: Final = 2_000
# Kinds whose data names the activity that they are about.
NAMING: Final = (
    *(K.ACTIVITY_FINISHED, K.ACTIVITY_FAILED, K.VALUE_RECORDED, K.MODEL_ANSWERED, K.MODEL_FAILED),
    *(K.EFFECT_STARTED, K.EFFECT_FINISHED, K.EFFECT_FAILED, K.EFFECT_SETTLED),
)
LEFT: Final = 300  # events that are not in the index, of one answer
FILE_BYTES_MAX: Final = 1_000_000
_TEXTS: Final = ("text/plain", "text/markdown", "text/csv", "application/json", "application/yaml")


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of a workspace: a thread, an agent's threads, a time, or all of it."""

    workspace: UUID
    thread: UUID | None = narrowing(None, "p.thread_id = %(thread)s::uuid")
    agent: str = narrowing("", "p.agent = %(agent)s::text")
    since: datetime | None = narrowing(None, "p.at >= %(since)s::timestamptz")
    until: datetime | None = narrowing(None, "p.at <= %(until)s::timestamptz")


SQL: Final = sql_file(__file__, scope=f"AND {condition(Scope)}")


@dataclass(frozen=True, slots=True)
class Passage:
    """An event with all that it records.

    `changes` are the values that its checkpoint gave channels, `args` and `result` of the call that
    it names. `checkpoint` is the number of the one that it committed. `file` is the text of a file
    that was stored.
    """

    thread: UUID
    seq: int
    kind: str
    actor: str
    at: datetime
    imported: bool
    workspace: UUID
    agent: str
    title: str
    checkpoint: int | None
    tool: str
    node: str
    data: dict[str, Any]
    changes: dict[str, Any]
    args: Any
    result: Any
    file: str

    @property
    def words(self) -> str:
        """The text that the index has of it."""
        values = (self.data, self.args, self.result, self.changes)
        names = texts.prepared(f"{self.kind} {self.tool} {self.node}")
        return f"{names} {texts.words_of(*values, self.file)}"


@dataclass(frozen=True, slots=True)
class Matches:
    """Events that have words of a question, best first.

    `frequencies` says how many events of the scope have a word, counted up to COMMON. With
    `complete` false the index is behind by more than an answer looks at.
    """

    passages: tuple[Passage, ...]
    frequencies: dict[str, int]
    complete: bool


@dataclass(frozen=True, slots=True)
class Position:
    """The place of an event in the feed of all threads."""

    xid: int
    thread: UUID
    seq: int


def indexed_position() -> Any | None:
    """The last event in the index: `xid`, `thread_id`, `seq`; `is_behind` where more can follow.

    One that `is_ahead` of all transactions was made by another server.
    """
    rows = fetch_named(SQL.position)
    return rows[0] if rows else None


def after(position: Position, *, limit: int) -> tuple[list[Passage], Position | None]:
    """The next events of all threads, and the place of the last; without text of closed threads.

    One that can't be read is logged and left out: all others come behind it.
    """
    rows = fetch_named(
        SQL.behind_position,
        {
            "xid": position.xid,
            "thread": position.thread,
            "seq": position.seq,
            "limit": limit,
            "naming": _NAMING,
        },
    )
    end = Position(rows[-1].xid, rows[-1].thread, rows[-1].seq) if rows else None
    passages = []
    for row in rows:
        if row.data is None:
            continue
        try:
            passages.append(_passage(row))
        except (DatabaseError, InterfaceError):
            raise  # of the connection, not of the event
        except Exception:
            log.exception("history.not_read", thread=str(row.thread), seq=row.seq)
    return passages, end


def read(keys: Sequence[tuple[UUID, int]], *, workspace: UUID) -> list[Passage]:
    """Events by thread and number, in this order; of closed threads none."""
    threads, seqs = [thread for thread, _ in keys], [seq for _, seq in keys]
    params = {"threads": threads, "seqs": seqs, "workspace": workspace, "naming": _NAMING}
    rows = {(row.thread, row.seq): row for row in fetch_named(SQL.by_number, params)}
    return [_passage(row) for key in keys if (row := rows.get(key)) and row.data is not None]


def find(words: Sequence[str], scope: Scope, *, limit: int) -> Matches:
    """The events of a scope that have most of some words, rare words first.

    Where all words are common, the first found that have all of them: ranking more would read each.
    Events that are not in the index yet are read one by one, up to LEFT.
    """
    # An event moves into the index, and a rebuild takes all out of it: between two reads it would
    # be in neither.
    with one_moment():
        return _find(words, scope, limit)


def _find(words: Sequence[str], scope: Scope, limit: int) -> Matches:
    params = parameters(scope) | {"workspace": scope.workspace, "cap": COMMON}
    with planned_for_this():
        counted = fetch_named(
            SQL.frequencies, params | {"words": [texts.prepared(word) for word in words]}
        )
        rows = fetch_named(SQL.left, params | {"limit": LEFT, "naming": _NAMING})
    left = [_passage(row) for row in rows if row.data is not None]
    hashed = fetch_named(SQL.hashes, {"bodies": [one.words for one in left]}) if left else []
    had = [{*row.words} for row in hashed]
    events = {row.hash: row.n for row in counted}
    known = {one: n for one in events if (n := events[one] + sum(one in words for words in had))}
    weights = {one: math.log(1 + COMMON / n) for one, n in known.items()}
    scored = [
        (sum(weights[one] for one in weights if one in words), passage)
        for words, passage in zip(had, left, strict=True)
    ]
    rare = [one for one in known if 0 < events[one] < COMMON]
    if known:
        params |= {
            "hashes": [*weights],
            "weights": [*weights.values()],
            "chosen": rare or [*known],
            "window": COMMON * max(1, len(rare)),
            "limit": limit,
        }
        with planned_for_this():
            hits = fetch_named(SQL.having_any if rare else SQL.having_all, params)
        scores = {(row.thread, row.seq): row.score for row in hits}
        indexed = read([*scores], workspace=scope.workspace)
        scored += [(scores[one.thread, one.seq], one) for one in indexed]
    best = {(one.thread, one.seq): (score, one) for score, one in scored if score > 0}
    ordered = sorted(best.values(), key=lambda pair: (-pair[0], -pair[1].at.timestamp()))
    by_word: dict[str, int] = {}
    for row in counted:
        word = words[row.place - 1]
        by_word[word] = min(known.get(row.hash, 0), by_word.get(word, COMMON))
    return Matches(tuple(one for _, one in ordered[:limit]), by_word, len(rows) < LEFT)


def _passage(row: Any) -> Passage:
    data = decoded(row.data)
    return Passage(
        thread=row.thread,
        seq=row.seq,
        kind=row.kind,
        actor=row.actor,
        at=row.at,
        imported=row.imported,
        workspace=row.workspace,
        agent=row.agent,
        title=row.title,
        checkpoint=row.checkpoint,
        tool=row.tool,
        node=row.node,
        data=texts.statement(data),
        changes=_changes(row.thread, decoded(row.delta) or {}),
        args=decoded(row.args),
        result=decoded(row.result),
        file=_file_text(row.workspace, data) if row.kind == K.ARTIFACT_STORED else "",
    )


def _changes(thread: UUID, delta: dict[str, Any]) -> dict[str, Any]:
    if references.PUT in delta:
        try:
            named = references.named(delta[references.PUT])
            contents = fetched([thread], references.wanted(named.values()))
            delta = references.resolved(delta, contents)
        except (ContentAway, CorruptHistory, InvalidValue):
            pass  # the rest of it is searched: what is damaged or away, verification says
    return texts.changed(delta)


def _file_text(workspace: UUID, data: dict[str, Any]) -> str:
    """The beginning of a stored text; empty of other files, and where the storage has none."""
    if not str(data.get("media_type", "")).startswith(_TEXTS):
        return ""
    try:
        row = artifact(str(data.get("sha256")), workspace=workspace)
        if row.size > FILE_BYTES_MAX:
            return ""
        with opened(row) as file:
            raw = file.read(4 * texts.CHARACTERS_MAX)
    except (ContentAway, CorruptHistory, NotFound):
        return ""
    return raw.decode(errors="replace")[: texts.CHARACTERS_MAX]


_NAMING: Final = [str(kind) for kind in NAMING]
