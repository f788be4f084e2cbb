"""Materialising: the state at any checkpoint, from one indexed query and no agent code.

A checkpoint's past is a few ranges of checkpoints, one per branch it went through, possibly in
other threads (forks share their past). The query walks from branch to branch, stops at the newest
keyframe on the way, and returns the keyframe and the deltas after it. Large values that are still
in force are fetched by one more query, where there are any. Each range is looked up by
itself (OFFSET 0): as a join the planner would rather read the whole table. Deltas come in chunks of
32, each with its number, in any order: a row of its own costs as much as a short delta, and sorting
there would copy every one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any
from uuid import UUID

import structlog
from django.db import connection

from . import channels as _channels
from . import deltas, keyframes, payloads, prepared, references
from .channels import Digests, Reducer
from .errors import CorruptHistory, InvalidValue, NotFound

log = structlog.get_logger("gatepost.history")

_SEGMENTS = """
WITH RECURSIVE seg AS (
  SELECT c.thread_id, c.number AS hi, c.branch_start AS lo, 0 AS depth,
         {keyframe_of_c} AS kf, jsonb_build_object('hash', encode(c.state_hash, 'hex'),
         'schema_version', c.schema_version, 'agent_version', c.agent_version_id) AS claims
  FROM gp_checkpoint c WHERE c.thread_id = %s::uuid AND c.id = {checkpoint}
  UNION ALL
  SELECT p.thread_id, p.number, p.branch_start, s.depth + 1, {keyframe_of_p}, NULL::jsonb
  FROM seg s
  JOIN gp_checkpoint f ON f.thread_id = s.thread_id AND f.number = s.lo
  JOIN gp_checkpoint p ON p.thread_id = f.parent_thread AND p.number = f.parent_number
  WHERE s.kf IS NULL
)
"""
_BODIES = """
SELECT 'claims' AS what, NULL::integer AS depth, NULL::integer AS number, s.thread_id AS owner,
  s.claims::text AS body FROM seg s WHERE s.depth = 0
UNION ALL
SELECT 'keyframe', s.depth, k.number, s.thread_id, k.state
  FROM seg s, LATERAL (SELECT x.number, x.state FROM gp_keyframe x
    WHERE x.thread_id = s.thread_id AND x.number = s.kf OFFSET 0) k
UNION ALL
SELECT 'deltas', s.depth, c.chunk, s.thread_id, c.body
  FROM seg s, LATERAL (SELECT (x.number + 31) / 32 AS chunk,
    '[' || string_agg('[' || x.number || ',' || x.delta::text || ']', ',') || ']' AS body
    FROM gp_checkpoint x WHERE x.thread_id = s.thread_id
    AND x.number BETWEEN coalesce(s.kf + 1, s.lo) AND s.hi GROUP BY 1 OFFSET 0) c
"""
_NEWEST = """(SELECT max(k.number) FROM gp_keyframe k WHERE k.thread_id = {0}.thread_id
           AND k.number BETWEEN {0}.branch_start AND {0}.number)"""
_GIVEN = "%s::uuid"
_NEWEST_OF = {"keyframe_of_c": _NEWEST.format("c"), "keyframe_of_p": _NEWEST.format("p")}
_NO_KEYFRAME = {"keyframe_of_c": "NULL::integer", "keyframe_of_p": "NULL::integer"}
_FROM_NEWEST = _SEGMENTS.format(checkpoint=_GIVEN, **_NEWEST_OF)
_STATE = _FROM_NEWEST + _BODIES
_STATE_OF_HEAD = (
    _SEGMENTS.format(
        checkpoint="(SELECT h.head FROM gp_thread h WHERE h.id = %s::uuid)", **_NEWEST_OF
    )
    + _BODIES
)
_STATE_FROM_DELTAS = _SEGMENTS.format(checkpoint=_GIVEN, **_NO_KEYFRAME) + _BODIES
# The ranges that a read would go through, as table seg of (thread, checkpoint); no state is read.
RANGES = _FROM_NEWEST


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


def asked(thread: UUID, checkpoint: UUID, *, from_deltas: bool = False) -> prepared.Asked:
    """What `materialise` asks the database."""
    return _STATE_FROM_DELTAS if from_deltas else _STATE, (thread, checkpoint)


def asked_of_head(thread: UUID) -> prepared.Asked:
    """The same for the head of the thread as it is then."""
    return _STATE_OF_HEAD, (thread, thread)


def materialise(
    thread: UUID,
    checkpoint: UUID,
    *,
    from_deltas: bool = False,
    rows: Sequence[tuple[Any, ...]] | None = None,
) -> Materialised:
    """The state at `checkpoint` of `thread`; raises NotFound, CorruptHistory, ContentAway.

    `from_deltas` passes over keyframes, back to the first input; `rows` are the answer to `asked`
    where somebody has it. Hashes are not looked at here: `checked` does that.
    """
    if rows is None:
        rows = prepared.fetch(*asked(thread, checkpoint, from_deltas=from_deltas))
    if not rows:
        raise NotFound("There is no such checkpoint in this thread.")
    claims: dict[str, Any] = {}
    keyframe: tuple[UUID, int] | None = None
    base = "{}"
    chunks: list[tuple[int, int, str]] = []
    owners: set[UUID] = set()
    for what, depth, number, owner, body in rows:
        if what == "deltas":
            chunks.append((-depth, number, body))
            owners.add(owner)
        elif what == "claims":
            claims = deltas.decode(body)
        else:
            keyframe, base = (owner, number), body
    chunks.sort()
    read = since = size = 0  # deltas; of them since the keyframe, and their bytes
    ranges: set[int] = set()
    try:
        state = deltas.replay(deltas.decode_stored(base), ())
        for depth, chunk, body in chunks:
            pairs = sorted(deltas.decode_stored(body), key=itemgetter(0))
            state = deltas.replay(state, (delta for _, delta in pairs))
            read += len(pairs)
            # The first input (alone in its chunk) is as good as a keyframe.
            if keyframe or (depth, chunk) != chunks[0][:2]:
                since += len(pairs)
                size += len(body)
                ranges.add(depth)
        if missing := references.wanted(state.values()):
            version = UUID(claims["agent_version"])
            found = payloads.fetched(sorted(owners), missing, agent_version=version)
            references.fill(state, found)
    except InvalidValue as error:
        if keyframe is None:
            raise CorruptHistory(f"The stored history cannot be applied: {error}") from error
        return _without(keyframe, thread, checkpoint)
    return Materialised(
        state,
        bytes.fromhex(claims["hash"]),
        claims["schema_version"],
        read,
        UUID(claims["agent_version"]),
        keyframes.weight(size, since, len(ranges)),
        since,
        len(ranges),
        keyframe,
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

    The digests are those of the agent version that wrote the checkpoint. Whoever knows its
    reducers gives them with the id of the version that declares them, which saves a query.

    A state that does not fit its checkpoint's hash is never used. When a keyframe is to blame, the
    state comes from the deltas alone.
    """
    found = materialise(thread, checkpoint, rows=rows)
    if reducers is None or (declared_by is not None and found.agent_version != declared_by):
        reducers = reducers_of(found.agent_version) if found.agent_version else {}
    try:
        return found, checked_digests(found, reducers)
    except CorruptHistory:
        if found.keyframe is None:
            raise
        found = _without(found.keyframe, thread, checkpoint)
        return found, checked_digests(found, reducers)


def checked_digests(found: Materialised, reducers: Mapping[str, Reducer]) -> Digests:
    """Digests of a materialised state; raises CorruptHistory when they do not fit its hash."""
    digests = Digests.of(found.state, reducers)
    if digests.root != found.state_hash:
        raise CorruptHistory("The stored state does not fit the hash of its checkpoint.")
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
