"""The parts of a memory: scopes, kinds, sources and bounds; plain data, no ORM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import Field

from .errors import InvalidValue
from .state import deltas

type Scope = Literal["thread", "agent", "person", "workspace"]
type Kind = Literal["conversation", "fact", "document"]
type Source = Literal["agent", "person", "import"]

SCOPES: Final[tuple[Scope, ...]] = ("thread", "agent", "person", "workspace")
KINDS: Final[tuple[Kind, ...]] = ("conversation", "fact", "document")
SOURCES: Final[tuple[Source, ...]] = ("agent", "person", "import")
# Scopes that more than the thread itself read.
SHARED: Final = ("agent", "person", "workspace")
TEXT_MAX, METADATA_BYTES, OWNER_MAX = 100_000, 16 * 1024, 200
QUERY_MAX, RECALLED_MAX = 1_000, 100
# A memory in JSON, as state and records name it.
REF: Final = "$memory"
# In the metadata of a memory that is an item of a store: `{"namespace": "users.7", "key": "tone"}`.
ITEM: Final = "$item"
ITEM_BYTES: Final = 1_000  # of namespace and key: an index has them


@dataclass(frozen=True, slots=True)
class Where:
    """The place in a thread at which something was remembered."""

    thread: UUID
    branch: int
    step: int
    node: str


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory about to be kept; `owner` is whose it is: a thread, an agent, a person, or nobody's.

    `outside`: its text came from outside, such as a page, a mail or another system. It expires
    `seconds` from now, or never.
    """

    scope: Scope
    owner: str
    kind: Kind
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    outside: bool = False
    source: Source = "agent"
    where: Where | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A memory; `revision` counts its texts.

    `owner` is the thread's id, the agent's name or the person (`user:7`) that it belongs to, empty
    for the workspace. `outside`: its text came from outside the workspace. `thread`, `branch`,
    `step` and `node` say where an agent remembered it. One that is gone has lost its text;
    `gone_reason` says why.
    """

    id: UUID
    workspace: Annotated[UUID, Field(exclude=True)]
    scope: Scope
    owner: str
    kind: Kind
    text: str
    metadata: dict[str, Any]
    outside: bool
    source: Source
    thread: UUID | None
    branch: int | None
    step: int | None
    node: str
    author: str
    revision: int
    created_at: datetime
    revised_at: datetime | None
    revised_by: str
    expires_at: datetime | None
    gone_at: datetime | None
    gone_by: str
    gone_reason: str

    @property
    def ref(self) -> dict[str, Any]:
        """The reference that state and records hold."""
        return {REF: str(self.id), "revision": self.revision}


@dataclass(frozen=True, slots=True)
class FormerText:
    """A text of a memory before it was corrected."""

    revision: int
    text: str
    author: str
    written_at: datetime


def is_ref(value: Any) -> bool:
    """Return whether a JSON value is a reference to a memory."""
    return (
        isinstance(value, Mapping)
        and value.keys() == {REF, "revision"}
        and isinstance(value[REF], str)
        and type(value["revision"]) is int
    )


def item_of(metadata: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return (namespace, key) of the item of a store that a memory is; None for other memories."""
    address = metadata.get(ITEM)
    return None if address is None else (address["namespace"], address["key"])


def refs_in(value: Any) -> Iterator[tuple[UUID, int]]:
    """The (memory, revision) of every reference inside a JSON value."""
    if is_ref(value):
        with suppress(ValueError):
            yield UUID(value[REF]), value["revision"]
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from refs_in(inner)


def check_memory(new: NewMemory) -> None:
    """Raise InvalidValue for a memory that cannot be kept."""
    for name, value, known in (
        ("scope", new.scope, SCOPES),
        ("kind", new.kind, KINDS),
        ("source", new.source, SOURCES),
    ):
        if value not in known:
            raise InvalidValue(f"$.{name}", f"must be one of {', '.join(known)}")
    check_text(new.text)
    check_metadata(new.metadata)
    if bool(new.owner) is (new.scope == "workspace") or len(new.owner) > OWNER_MAX:
        raise InvalidValue("$.owner", "names a thread, an agent or a person; nobody of a workspace")
    if new.scope == "thread":
        try:
            UUID(new.owner)
        except ValueError:
            raise InvalidValue("$.owner", "is not the id of a thread") from None
    if new.seconds is not None and not 0 < new.seconds <= 1e10:
        raise InvalidValue("$.seconds", "must be above 0")
    if new.seconds is not None and ITEM in new.metadata:
        raise InvalidValue("$.seconds", "is not for an item of a store, which stays until deleted")


def check_text(text: str) -> None:
    """Raise InvalidValue for a text that is empty, too long or no JSON."""
    deltas.check(text, "$.text")
    if not text.strip():
        raise InvalidValue("$.text", "is required")
    if len(text) > TEXT_MAX:
        raise InvalidValue("$.text", f"has {len(text):,} characters; at most {TEXT_MAX:,}")


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Raise InvalidValue for metadata that is no JSON object, or too large."""
    deltas.check(metadata, "$.metadata")
    size = len(deltas.canonical(dict(metadata)))
    if size > METADATA_BYTES:
        raise InvalidValue("$.metadata", f"has {size:,} bytes; at most {METADATA_BYTES:,}")
    if ITEM in metadata:
        _check_item(metadata[ITEM])


def _check_item(address: Any) -> None:
    """Raise InvalidValue for what names no item of a store."""
    at = f"$.metadata.{ITEM}"
    parts = address.values() if isinstance(address, Mapping) else ()
    if (
        not parts
        or address.keys() != {"namespace", "key"}
        or not all(type(p) is str for p in parts)
    ):
        raise InvalidValue(at, "has a namespace and a key, both texts")
    if not address["key"] or not all(address["namespace"].split(".")):
        raise InvalidValue(at, "has an empty label or an empty key")
    if sum(len(part.encode()) for part in parts) > ITEM_BYTES:
        raise InvalidValue(at, f"has more than {ITEM_BYTES:,} bytes")
