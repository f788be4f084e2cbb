"""The hash of a state, kept up to date at the cost of what changes; pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from typing import Any, ClassVar, Protocol

from .deltas import canonical
from .references import PUT, named

# How the reducers are named whose channels are hashed by their parts.
_APPEND, _MERGE = "append", "merge"


class HasName(Protocol):
    """A reducer, as far as digests need it."""

    @property
    def name(self) -> str: ...


def _hash(data: bytes) -> bytes:
    return sha256(data).digest()


class _Whole:
    """A channel hashed as one value."""

    kind: ClassVar[bytes] = b"v"

    def __init__(self, value: Any) -> None:
        raw = canonical(value)
        self.digest = _hash(raw)
        self.size = len(raw)


class _Chain:
    """A list hashed item by item, so that appending costs only the new items."""

    kind: ClassVar[bytes] = b"a"

    def __init__(self, items: list[Any]) -> None:
        self.digest = _hash(b"gatepost-append-1")
        self._inside = 0  # bytes of the items, a comma each
        self.grow(items)

    @classmethod
    def from_digest(cls, digest: bytes, size: int) -> _Chain:
        """The chain of a list of which only this is known; it grows as the whole one would."""
        chain = cls([])
        chain.digest, chain._inside = digest, size - 1 if size > 2 else 0
        return chain

    def grow(self, items: list[Any]) -> None:
        digest, inside = self.digest, self._inside
        for item in items:
            raw = canonical(item)
            digest = sha256(digest + sha256(raw).digest()).digest()
            inside += len(raw) + 1
        self.digest, self._inside = digest, inside

    @property
    def size(self) -> int:
        return self._inside + 1 if self._inside else 2


class _Tree:
    """An object hashed member by member in 256 buckets, so that a member costs its bucket only."""

    kind: ClassVar[bytes] = b"m"

    def __init__(self, members: dict[str, Any]) -> None:
        self._buckets: dict[int, dict[bytes, tuple[bytes, int]]] = {}
        self._tops = bytearray(256 * 32)
        self._inside = 0  # bytes of the members, a comma each
        self.grow(members)

    @property
    def members(self) -> int:
        return sum(map(len, self._buckets.values()))

    def grow(self, members: dict[str, Any]) -> None:
        touched = set()
        for key, value in members.items():
            name, raw = canonical(key), canonical(value)
            key_digest, size = _hash(name), len(name) + len(raw) + 2
            bucket = self._buckets.setdefault(key_digest[0], {})
            self._inside += size - bucket.get(key_digest, (b"", 0))[1]
            bucket[key_digest] = (_hash(raw), size)
            touched.add(key_digest[0])
        for number in touched:
            pairs = sorted(self._buckets[number].items())
            bucket_digest = _hash(b"".join([key + entry[0] for key, entry in pairs]))
            self._tops[number * 32 : number * 32 + 32] = bucket_digest
        self.digest = _hash(b"gatepost-merge-1" + self._tops)

    @property
    def size(self) -> int:
        return self._inside + 1 if self._inside else 2


class _DigestOnly:
    """A channel of which only kind, digest and size are known: it can be replaced, not grow."""

    def __init__(self, kind: bytes, digest: bytes, size: int) -> None:
        self.kind, self.digest, self.size = kind, digest, size


class NeedsState(Exception):
    """A delta cannot be taken in without the values that it adds to."""


class Digests:
    """The Merkle digests of a state and its size in bytes.

    root = sha256("gatepost-state-1" | for each channel in code point order: length of its name in
    UTF-8 (4 bytes, big endian) | name | kind | digest). The kinds, c() being canonical bytes:

    - `v`: sha256(c(value));
    - `a`, a list in an `Append` channel: d = sha256("gatepost-append-1"), then for each item
      d = sha256(d | sha256(c(item)));
    - `m`, an object in a `Merge` channel: members stand in buckets by the first byte of
      k = sha256(c(key)); a bucket is sha256(k | sha256(c(value)) | ... in order of k), an empty one
      32 zero bytes; the digest is sha256("gatepost-merge-1" | the 256 buckets).

    So the root depends on the state's value and its reducers only, not on the way there.
    """

    def __init__(self, reducers: Mapping[str, HasName]) -> None:
        self._reducers = reducers
        self._parts: dict[str, _Whole | _Chain | _Tree | _DigestOnly] = {}
        self._heads: dict[str, tuple[bytes, int]] = {}
        self._order: list[str] | None = None
        self._size: int | None = None  # until something changes

    @classmethod
    def of(cls, state: Mapping[str, Any], reducers: Mapping[str, HasName]) -> Digests:
        """The digests of a whole state; a channel without a reducer counts as `LastValue`."""
        digests = cls(reducers)
        for channel, value in state.items():
            digests._digest(channel, value)
        return digests

    def update(self, delta: Mapping[str, Any], state: Mapping[str, Any]) -> bytes:
        """Take in a delta, given the state after it; answers the new root (32 bytes)."""
        self._size = None
        for channel in delta.get("set", ()):
            self._digest(channel, state[channel])
        for channel, items in delta.get("append", {}).items():
            part = self._parts.get(channel)
            if isinstance(part, _Chain):
                part.grow(items)
            else:
                self._digest(channel, state[channel])
        for channel, members in delta.get("merge", {}).items():
            part = self._parts.get(channel)
            if isinstance(part, _Tree):
                part.grow(members)
            else:
                self._digest(channel, state[channel])
        for channel in delta.get("unset", ()):
            if self._parts.pop(channel, None):
                self._order = None
        return self.root

    def to_bytes(self) -> bytes:
        """All that is needed to continue without the state, as `resumed` reads it.

        For each channel in code point order: length of its name in UTF-8 (4 bytes, big endian) |
        name | kind | digest (32 bytes) | size (8 bytes, big endian).
        """
        whole: list[bytes] = []
        for channel in self._channels():
            part = self._parts[channel]
            whole += (self._heads[channel][0], part.kind, part.digest, part.size.to_bytes(8))
        return b"".join(whole)

    @classmethod
    def resumed(cls, saved: bytes, reducers: Mapping[str, HasName]) -> Digests:
        """The digests that were kept; raises ValueError where these bytes are none."""
        digests = cls(reducers)
        rest = memoryview(saved)
        while rest:
            at = 4 + int.from_bytes(rest[:4])
            name, kind = bytes(rest[4:at]), bytes(rest[at : at + 1])
            digest, size = bytes(rest[at + 1 : at + 33]), bytes(rest[at + 33 : at + 41])
            if len(size) != 8:
                raise ValueError("kept digests are cut off")
            make = _Chain.from_digest if kind == _Chain.kind else partial(_DigestOnly, kind)
            digests._put(name.decode(), make(digest, int.from_bytes(size)))
            rest = rest[at + 41 :]
        return digests

    def follow(self, stored: Mapping[str, Any]) -> None:
        """Take in a delta as it is stored, without the state.

        Raises NeedsState where it adds to a value that is known by its digest only.
        """
        self._size = None
        for channel, value in stored.get("set", {}).items():
            self._digest(channel, value)
        for channel, payload in named(stored.get(PUT, {})).items():
            if self._joined_by(channel) in (_APPEND, _MERGE):
                raise NeedsState
            self._put(
                channel, _DigestOnly(_Whole.kind, bytes.fromhex(payload.sha256), payload.size)
            )
        for op, kind in (("append", _Chain), ("merge", _Tree)):
            for channel, added in stored.get(op, {}).items():
                part = self._parts.get(channel)
                if part is None:
                    self._digest(channel, added)
                elif isinstance(part, kind):
                    part.grow(added)
                else:
                    raise NeedsState
        for channel in stored.get("unset", ()):
            if self._parts.pop(channel, None):
                self._order = None

    @property
    def root(self) -> bytes:
        """The Merkle root of the state, 32 bytes."""
        whole = [b"gatepost-state-1"]
        for channel in self._channels():
            part = self._parts[channel]
            whole += (self._heads[channel][0], part.kind, part.digest)
        return _hash(b"".join(whole))

    @property
    def size(self) -> int:
        """The length of the state's canonical JSON in bytes."""
        if self._size is None:
            heads = self._heads
            # A list, not a generator: each step asks for it.
            inside = sum([heads[channel][1] + part.size for channel, part in self._parts.items()])
            self._size = inside + 1 if inside else 2
        return self._size

    @property
    def parts(self) -> list[tuple[str, int, str]]:
        """(channel, bytes, sha256 of its canonical JSON, "" where it is hashed by its parts)."""
        return [
            (
                channel,
                self._parts[channel].size,
                self._parts[channel].digest.hex()
                if self._parts[channel].kind == _Whole.kind
                else "",
            )
            for channel in self._channels()
        ]

    @property
    def weight(self) -> int:
        """The number of channels and members that are held one by one."""
        return len(self._parts) + sum(
            part.members for part in self._parts.values() if isinstance(part, _Tree)
        )

    def _channels(self) -> list[str]:
        if self._order is None:
            self._order = sorted(self._parts)
        return self._order

    def _joined_by(self, channel: str) -> str:
        reducer = self._reducers.get(channel)
        return reducer.name if reducer else "last_value"

    def _digest(self, channel: str, value: Any) -> None:
        joined_by = self._joined_by(channel)
        if joined_by == _APPEND and isinstance(value, list):
            self._put(channel, _Chain(value))
        elif joined_by == _MERGE and isinstance(value, dict):
            self._put(channel, _Tree(value))
        else:
            self._put(channel, _Whole(value))

    def _put(self, channel: str, part: _Whole | _Chain | _Tree | _DigestOnly) -> None:
        if channel not in self._parts:
            name = channel.encode()
            # The second figure: the name as canonical JSON, a colon and a comma.
            self._heads[channel] = (len(name).to_bytes(4) + name, len(canonical(channel)) + 2)
            self._order = None
        self._parts[channel] = part
        self._size = None
