"""Materialising: the state at any checkpoint, from one indexed query and no agent code.

A checkpoint's past is a few ranges of checkpoints, one per branch it went through, possibly in
other threads (forks share their past). The query walks from branch to branch, stops at the newest
keyframe on the way, and returns the keyframe and the deltas after it. Large values that are still
in force are fetched by one more query, where there are any. Each range is looked up by
itself (OFFSET 0): as a join the planner would rather read the whole table. Deltas come in blocks
of 48 numbers, a line each, and are folded while the next block is made. A row of its own costs both
sides as much as a short delta, and a value of its own each time another piece of memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import structlog
from django.db import connection

from checkpoints import payloads
from checkpoints.errors import CorruptHistory, InvalidValue, NotFound
from checkpoints.log.closed_threads import refuse_erased
from checkpoints.postgres import reads as prepared
from checkpoints.postgres import row_texts
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import channels as _channels
from checkpoints.state import deltas, references
from checkpoints.state.channels import Digests, Reducer
from checkpoints.state.stored import parse, with_doubles

from . import keyframes

log = structlog.get_logger("gatepost.history")

# With 1 KB a step a block stays below 64 KB: for a longer text the server reserves 128 KB, and that
# its allocator takes from the system for each read and gives back.
_BLOCK = 48
SQL = sql_file(__file__, block=str(_BLOCK))


@dataclass(frozen=True, slots=True)
class Materialised:
    """A state with what its checkpoint claims of it, and what it took to read it.

    `unfolded` is the weight of the deltas since the last keyframe (see `keyframes`), in
    `unfolded_rows` rows and `ranges` branches; `keyframe` is the (thread, number) of the one that
    was used, `refused` of one that was found to be false and passed over.
    """

    state: dict[str, Any]
    state_hash: bytes
    schema_version: int
    deltas_read: int
    agent_version: UUID | None = None
    unfolded: int = 0
    unfolded_rows: int = 0
    ranges: int = 1
    keyframe: tuple[UUID, int] | None = None
    refused: tuple[UUID, int] | None = None


def state_query(thread: UUID, checkpoint: UUID, *, from_deltas: bool = False) -> prepared.Query:
    """The query of `materialise`."""
    return SQL.state_from_deltas if from_deltas else SQL.state, (thread, checkpoint)


def head_state_query(thread: UUID) -> prepared.Query:
    """The query of the state at the head, as it is when the query is sent."""
    return SQL.state_of_head, (thread, thread)


def ranges(thread: UUID, checkpoint: UUID) -> int:
    """Count the branches that a read of this state goes through; no state is read."""
    ((row,),) = prepared.fetch(SQL.ranges, (thread, checkpoint))
    return int(row)


def materialise(
    thread: UUID,
    checkpoint: UUID,
    *,
    from_deltas: bool = False,
    rows: Sequence[tuple[Any, ...]] | None = None,
) -> Materialised:
    """The state at `checkpoint` of `thread`; raises NotFound, CorruptHistory, ContentAway.

    `from_deltas` passes over keyframes, back to the first input; `rows` is the result of
    `state_query`, if the caller has it. Hashes are not compared here: `checked` does that.
    """
    reading = _Reading()
    try:
        if rows is None:
            question = state_query(thread, checkpoint, from_deltas=from_deltas)
            prepared.stream(question, reading.take)
        else:
            row_texts.take_rows(rows, reading.take)
        return reading.materialised()
    except InvalidValue as error:
        if reading.keyframe is None:
            refuse_erased(thread)
            raise CorruptHistory(f"The stored history cannot be applied: {error}") from error
        return _without(reading.keyframe, thread, checkpoint)


class _Reading:
    """The part of the result that has arrived; the state is folded as far as that goes."""

    def __init__(self) -> None:
        self.keyframe: tuple[UUID, int] | None = None
        self._claims: dict[str, Any] = {}
        self._owners: list[UUID] = []
        self._ranges: list[range] = []  # numbers still to come, the oldest last
        self._branches = 0
        self._first = 0  # bytes of the first input: it is as good as a keyframe
        self._folder = deltas.Folder({}, stored=True)
        self._rows = self._size = 0  # deltas that were folded, and their bytes

    def take(self, first: bytes | None, rows: bytes, body: bytes) -> None:
        """One row of the answer, in its order; raises InvalidValue."""
        if first is None:
            self._expect(*deltas.decode(body))
        elif first == b"-1":
            keyframe = parse(body)
            if not isinstance(keyframe, dict):
                raise InvalidValue("$", "a state is an object")
            self._folder = deltas.Folder(keyframe, stored=True)
        else:
            self._fold(int(first), int(rows), body)

    def _expect(
        self, owner: str, first: int, last: int, keyframe: int | None, claims: dict[str, Any] | None
    ) -> None:
        if claims is not None:
            self._claims = claims
        if keyframe is not None:
            self.keyframe = UUID(owner), keyframe
        if first <= last:
            self._owners.append(UUID(owner))
            self._ranges.append(range(first, last + 1))
            self._branches += 1

    def _fold(self, first: int, rows: int, block: bytes) -> None:
        """Deltas of one range, from number `first` on to the end of their block."""
        due = self._ranges.pop() if self._ranges else range(0)
        wanted = due[: _BLOCK - first % _BLOCK]
        if first not in due[:1] or rows != len(wanted):
            raise InvalidValue("$", f"a checkpoint is missing from number {first} on")
        if self.keyframe is None and not self._rows:
            self._first = block.find(b"\n") if rows > 1 else len(block)
            self._branches -= len(due) == 1
        # JSON as it is stored has no line breaks: one stands between two deltas and nowhere else.
        self._folder.add(*parse(b"[%b]" % block.replace(b"\n", b",")))
        self._rows += rows
        self._size += len(block)
        if due[rows:]:
            self._ranges.append(due[rows:])

    def materialised(self) -> Materialised:
        """The whole, once all has arrived; raises InvalidValue, NotFound, ContentAway."""
        # Once for all: most of what was parsed has no numbers, or has been replaced since.
        claims, state = self._claims, with_doubles(self._folder.state)
        if not claims:
            raise NotFound("There is no such checkpoint in this thread.")
        if self._ranges:
            raise InvalidValue("$", "the newest checkpoints are missing")
        version = UUID(claims["agent_version"])
        if missing := references.wanted(state.values()):
            result = payloads.fetched(sorted(self._owners), missing, agent_version=version)
            references.fill(state, result)
        since = self._rows if self.keyframe else self._rows - 1
        return Materialised(
            state,
            bytes.fromhex(claims["hash"]),
            claims["schema_version"],
            self._rows,
            version,
            keyframes.weight(self._size - self._first, since, self._branches),
            since,
            self._branches,
            self.keyframe,
        )


def _without(keyframe: tuple[UUID, int], thread: UUID, checkpoint: UUID) -> Materialised:
    """The state from the deltas alone, since this keyframe does not fit."""
    owner, number = keyframe
    log.error("keyframe.refused", thread=str(owner), number=number)
    return replace(materialise(thread, checkpoint, from_deltas=True), refused=keyframe)


def checked(
    thread: UUID,
    checkpoint: UUID,
    reducers: Mapping[str, Reducer] | None = None,
    *,
    declared_by: UUID | None = None,
    rows: Sequence[tuple[Any, ...]] | None = None,
) -> tuple[Materialised, Digests]:
    """The state to build upon, with its digests; raises NotFound, CorruptHistory.

    The digests are those of the agent version that wrote the checkpoint. A caller that knows its
    reducers gives them with the id of the version that declares them, which saves a query.

    A state that does not fit its checkpoint's hash is never used. When a keyframe is to blame, the
    state comes from the deltas alone.
    """
    result = materialise(thread, checkpoint, rows=rows)
    if reducers is None or (declared_by is not None and result.agent_version != declared_by):
        reducers = reducers_of(result.agent_version) if result.agent_version else {}
    try:
        return result, checked_digests(result, reducers)
    except CorruptHistory:
        if result.keyframe is None:
            raise
        result = _without(result.keyframe, thread, checkpoint)
        return result, checked_digests(result, reducers)


def checked_digests(materialised: Materialised, reducers: Mapping[str, Reducer]) -> Digests:
    """Digests of a materialised state; raises CorruptHistory when they do not match its hash."""
    digests = Digests.of(materialised.state, reducers)
    if digests.root != materialised.state_hash:
        raise CorruptHistory("The stored state does not match the hash of its checkpoint.")
    return digests


def reducers_of(agent_version: UUID) -> dict[str, Reducer]:
    """Reducers per channel as the agent version declares them; needs no agent code."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT channels::text FROM gp_agent_version WHERE id = %s::uuid", (agent_version,)
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such agent version.")
    return _channels.reducers_of(deltas.decode(row[0]))
