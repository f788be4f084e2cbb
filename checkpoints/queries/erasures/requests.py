"""Requests for erasure, what they would touch, and legal holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field

from checkpoints.errors import InvalidValue, NotFound
from checkpoints.log.remains import parts
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.states import FINISHED, Status
from checkpoints.tables.readers import record_of

from ..rows import rows

SCOPES: Final = ("thread", "family")
THREADS_MAX: Final = 10_000
LISTED_MAX: Final = 200
_NAMES: Final = (
    *("id", "workspace_id", "thread_id", "scope", "n_threads", "selection", "reason", "rule"),
    *("state", "requested_by", "requested_by_name", "requested_at", "decided_by"),
    *("decided_by_name", "decided_at", "comment", "finished_at", "n_rows", "n_bytes", "n_files"),
)
SQL: Final = sql_file(__file__, columns=", ".join(f"r.{name}" for name in _NAMES))


@dataclass(frozen=True, slots=True)
class ErasureRow:
    """A request for erasure; `rule` is the retention rule that made it.

    `requested`: a second person is awaited. `approved`: its threads are closed and are being
    erased. `done`: content, salts and files are gone. `refused`.
    """

    id: UUID
    workspace: Annotated[UUID, Field(exclude=True)]
    thread: UUID
    scope: Literal["thread", "family"]
    n_threads: int
    selection: Annotated[str, Field(exclude=True)]
    reason: str
    rule: UUID | None
    state: Literal["requested", "approved", "done", "refused"]
    requested_by: str
    requested_by_name: str
    requested_at: datetime
    decided_by: str
    decided_by_name: str
    decided_at: datetime | None
    comment: str
    finished_at: datetime | None
    n_rows: int
    n_bytes: int
    n_files: int
    title: Annotated[str | None, Field(exclude=True)] = None


@dataclass(frozen=True, slots=True)
class HoldRow:
    """A legal hold on a thread; `lifted_at` is null while it is set."""

    id: UUID
    workspace: Annotated[UUID, Field(exclude=True)]
    thread: UUID
    reason: str
    set_by: str
    set_at: datetime
    lifted_by: str
    lifted_at: datetime | None
    lift_reason: str


@dataclass(frozen=True, slots=True)
class Touched:
    """One thread that an erasure takes along; `hold` is the reason of a legal hold on it."""

    id: UUID
    title: str
    status: Status
    parent: UUID | None
    base: UUID | None
    erasure: UUID | None
    hold: str | None


@dataclass(frozen=True, slots=True)
class Selection:
    """All threads that an erasure takes along, in the order of their ids."""

    threads: tuple[Touched, ...]

    @property
    def ids(self) -> list[UUID]:
        """Their ids."""
        return [one.id for one in self.threads]

    @property
    def digest(self) -> str:
        """A hash that names exactly these threads."""
        return sha256(",".join(map(str, self.ids)).encode()).hexdigest()

    @property
    def unfinished(self) -> tuple[Touched, ...]:
        """Those that have to be ended before."""
        return tuple(one for one in self.threads if one.status not in FINISHED)

    @property
    def held(self) -> tuple[Touched, ...]:
        """Those with a legal hold."""
        return tuple(one for one in self.threads if one.hold is not None)

    @property
    def n_forks(self) -> int:
        """Count how many of them share the past of another one."""
        return sum(one.base is not None for one in self.threads)


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows and bytes in the database, files and their bytes that an erasure would drop."""

    rows: int
    bytes: int
    files: int
    file_bytes: int


def selection(
    thread: UUID, *, workspace: UUID, scope: str, erasure: UUID | None = None
) -> Selection:
    """The threads that an erasure takes along, without those of other erasures; raises NotFound.

    `erasure` is the request that the threads may be under already.
    """
    if scope not in SCOPES:
        raise InvalidValue("scope", f"is not one of {', '.join(SCOPES)}")
    up = scope == "family"
    params = (thread, workspace, up, workspace, workspace, THREADS_MAX + 1)
    result = [record_of(Touched, row, status=Status) for row in fetch_named(SQL.selection, params)]
    if not result:
        raise NotFound("There is no such thread in this workspace.")
    if len(result) > THREADS_MAX:
        message = f"takes more than {THREADS_MAX:,} threads along; erase its parts first"
        raise InvalidValue("scope", message)
    return Selection(tuple(one for one in result if one.erasure in (None, erasure)))


def counts(threads: Sequence[UUID]) -> Counts:
    """Count what an erasure of these threads would drop."""
    ids = list(threads)
    n_rows = n_bytes = 0
    for part in parts():
        ((n, size),) = rows(part.counts, tuple([ids] * part.counts.count("%s")))
        n_rows, n_bytes = n_rows + n, n_bytes + size
    ((files, file_bytes),) = rows(SQL.files, (ids,))
    return Counts(n_rows, n_bytes, files, file_bytes)


def erasures(workspace: UUID) -> list[ErasureRow]:
    """Requests of a workspace: those that wait first, then the newest; at most LISTED_MAX."""
    return [ErasureRow(*row) for row in rows(SQL.requests, (workspace, LISTED_MAX))]


def erasure(ident: UUID, *, workspace: UUID) -> ErasureRow:
    """One request; NotFound also for those of other workspaces."""
    result = rows(SQL.request, (workspace, ident))
    if not result:
        raise NotFound("There is no such erasure in this workspace.")
    return ErasureRow(*result[0])


def holds(workspace: UUID, *, thread: UUID | None = None) -> list[HoldRow]:
    """Legal holds of a workspace, or of one thread: those that are set first."""
    return [HoldRow(*row) for row in rows(SQL.holds, (workspace, thread, thread, LISTED_MAX))]


def hold(thread: UUID, *, workspace: UUID) -> HoldRow | None:
    """The legal hold that is set on a thread, if any."""
    return next((row for row in holds(workspace, thread=thread) if row.lifted_at is None), None)


def erased_among(threads: Collection[UUID]) -> list[UUID]:
    """Those of these threads whose content is gone."""
    result = rows("SELECT id FROM gp_erased WHERE id = ANY(%s::uuid[])", (list(threads),))
    return [ident for (ident,) in result]
