"""Reading a log in batches by keyset, and checking one entry after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from ..log.remains import is_blank
from ..postgres.named_rows import fetch_named
from ..state import deltas
from ..tables.columns import EVENT
from ..tables.readers import Reader
from .links import NO_HASH, Broken, fits, link

# Rows per statement: an event has at most 256 KiB.
EVENTS_AT_ONCE = 200
_TABLES = {"thread": ("gp_event", "thread_id"), "workspace": ("gp_workspace_event", "workspace_id")}


@dataclass(frozen=True, slots=True)
class Event:
    """One entry as it stands in the log."""

    seq: int
    workspace: UUID
    kind: str
    v: int
    actor: str
    data: str
    salt: bytes
    data_hash: bytes
    at: datetime
    prev_hash: bytes
    hash: bytes


_read = Reader(
    Event, EVENT.without("thread_id"), sql={"workspace": "workspace_id"}, json_as_text=True
)


@dataclass(slots=True)
class Log:
    """The log of a thread or a workspace, and how far it is verified.

    `last_seq` and `last_hash` are what its owner's row says, `highest_seq` what stands there.
    """

    of: str
    ident: UUID
    workspace: UUID
    chain: UUID
    last_seq: int
    last_hash: bytes
    highest_seq: int
    n_verified: int = 0
    prev: bytes = NO_HASH
    # Whether its content was erased: then data and salts have to be gone, and hashes stay.
    erased: bool = False

    def batches(self) -> Iterator[list[Event]]:
        """Read the entries not yet verified in batches, also those that should not exist."""
        table, column = _TABLES[self.of]
        # From far below 1: entries that somebody inserted before the first one are read as well.
        seq = self.n_verified or -(2**62)
        while True:
            with connection.cursor() as cursor:
                cursor.execute(
                    f"SELECT {_read.select} FROM {table} WHERE {column} = %s::uuid "
                    "AND seq > %s::bigint AND seq <= %s::bigint ORDER BY seq LIMIT %s",
                    (self.ident, seq, self.last_seq, EVENTS_AT_ONCE),
                )
                results = [_read(values) for values in cursor.fetchall()]
            if results:
                yield results
            if len(results) < EVENTS_AT_ONCE:
                return
            seq = results[-1].seq

    def check(self, event: Event) -> None:
        """Take `event` as the next one; raises Broken."""
        expected = self.n_verified + 1
        if event.seq > expected:
            raise Broken(expected, "missing in the log")
        if event.seq < expected:
            raise Broken(event.seq, "is before the first one")
        if event.workspace != self.workspace:
            raise Broken(event.seq, f"lies in another workspace than its {self.of}")
        if event.prev_hash != self.prev:
            raise Broken(event.seq, "does not continue the event before it")
        if self.erased:
            if event.salt or not is_blank(deltas.decode(event.data)):
                raise Broken(event.seq, "has content, and the thread was erased")
        elif fits(event.seq, event.salt, event.data) != event.data_hash:
            raise Broken(event.seq, "its data do not match their hash")
        self.prev = link(
            chain=self.chain,
            seq=event.seq,
            kind=event.kind,
            v=event.v,
            actor=event.actor,
            at=event.at,
            data_hash=event.data_hash,
            prev_hash=event.prev_hash,
        )
        if self.prev != event.hash:
            raise Broken(event.seq, "does not match its hash")
        self.n_verified = expected

    def check_end(self) -> None:
        """Refuse a log that ends elsewhere than its owner's row says; raises Broken."""
        if self.n_verified < self.last_seq:
            raise Broken(self.n_verified + 1, "missing at the end of the log")
        if self.highest_seq > self.last_seq:
            raise Broken(self.last_seq + 1, f"is after the last event that the {self.of} knows of")
        if self.prev != self.last_hash:
            raise Broken(self.last_seq, f"its hash is not the one that the {self.of} ends with")


def events_of_attempt(thread: UUID, kinds: Sequence[str], data: Mapping[str, Any]) -> list[Any]:
    """List the events of these kinds about the attempt at an effect that `data` names.

    Columns: kind, at, activity.
    """
    named = {name: data[name] for name in ("branch", "step", "node", "key", "tool") if name in data}
    return fetch_named(
        "SELECT kind, at, data ->> 'activity' AS activity FROM gp_event "
        "WHERE thread_id = %s::uuid AND kind = ANY(%s::text[]) AND data @> %s::jsonb "
        "AND coalesce(data ->> 'index', '0') = %s::text "
        "AND coalesce(data ->> 'attempt', '1') = %s::text ORDER BY seq",
        (
            thread,
            list(kinds),
            deltas.canonical(named).decode(),
            str(data.get("index", 0)),
            str(data.get("attempt", 1)),
        ),
    )
