"""The hash of one event, and what is raised where a chain does not hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID

from ..errors import GatepostError
from ..state import deltas

# What is hashed for one event. `gp_link` in the database writes the same text; a test compares.
LINK_TEXT = "gatepost-event-1|{chain}|{seq}|{kind}|{v}|{actor}|{at}|{data_hash}|{prev_hash}"
NO_HASH = bytes(32)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Broken(Exception):
    """A chain does not hold at event `seq`; the text says why."""

    def __init__(self, seq: int, what: str) -> None:
        super().__init__(what)
        self.seq = seq


def link(
    *,
    chain: UUID,
    seq: int,
    kind: str,
    v: int,
    actor: str,
    at: datetime,
    data_hash: bytes,
    prev_hash: bytes,
) -> bytes:
    """The hash of one event (32 bytes), with `at` as whole microseconds since 1970 in UTC."""
    text = LINK_TEXT.format(
        chain=chain,
        seq=seq,
        kind=kind,
        v=v,
        actor=actor,
        at=(at - _EPOCH) // timedelta(microseconds=1),
        data_hash=data_hash.hex(),
        prev_hash=prev_hash.hex(),
    )
    return sha256(text.encode()).digest()


def fits(seq: int, salt: bytes, text: str) -> bytes:
    """sha256(salt | canonical bytes) of stored JSON; Broken for what is never stored."""
    try:
        return sha256(salt + deltas.canonical(deltas.decode(text))).digest()
    except GatepostError as error:
        raise Broken(seq, f"holds what is never stored ({error})") from error
