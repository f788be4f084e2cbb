"""The form of an outgoing anchor and its hash; pure. docs/proof.md says the same for strangers.

Each anchor has the hash of the one before it, so the newest one alone fixes all of them. It holds
the ends of those logs that have moved since: `{of, id, chain, seq, hash}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from checkpoints.state import deltas

FORM: Final = "gatepost-anchors-1"
FIRST: Final = "0" * 64


@dataclass(frozen=True, slots=True)
class Anchor:
    """One anchor; `at` is in microseconds since 1970, hashes are hexadecimal."""

    number: int
    at: int
    previous: str
    heads: Sequence[Mapping[str, Any]]
    heads_hash: str
    hash: str

    @property
    def holds(self) -> bool:
        """Return whether the hashes are those of the content."""
        digest = hash_of(self.number, self.at, self.previous, self.heads_hash)
        return heads_hash(self.heads) == self.heads_hash and digest == self.hash

    def line(self, signature: str, *, whole: bool) -> bytes:
        """The anchor as one line of JSON; without its heads unless `whole`."""
        value: dict[str, Any] = {
            "form": FORM,
            "number": self.number,
            "at": self.at,
            "previous": self.previous,
            "heads_hash": self.heads_hash,
            "n_heads": len(self.heads),
            "hash": self.hash,
            "signature": signature,
        }
        if whole:
            value["heads"] = list(self.heads)
        return deltas.canonical(value)


def heads_hash(heads: Sequence[Mapping[str, Any]]) -> str:
    """The sha256 of the heads as canonical JSON."""
    return sha256(deltas.canonical([dict(one) for one in heads])).hexdigest()


def hash_of(number: int, at: int, previous: str, heads: str) -> str:
    """The hash of an anchor, from the hash of its heads."""
    return sha256(f"{FORM}|{number}|{at}|{previous}|{heads}".encode()).hexdigest()
