"""Who may act for whom now, and the list of deputies: the reader of their table."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import Field

from checkpoints.errors import NotFound
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file

from ..rules.deputies import Mandate
from ..rules.terms import names_of

# The role behind the right to decide; a test compares it with the table of rights.
DECIDES: Final = "reviewer"
LISTED: Final = 500

SQL = sql_file(__file__)


@dataclass(frozen=True, slots=True)
class DeputyRow:
    """The right of `deputy` to act for `person`: until `ends`, or in one `request`."""

    id: UUID
    person: str
    person_name: str
    deputy: str
    deputy_name: str
    request: UUID | None
    begins: datetime
    ends: datetime | None
    began: Annotated[bool, Field(description="Whether it holds now.")]
    reason: str
    made_by: str
    title: Annotated[str, Field(exclude=True)]


@dataclass(frozen=True, slots=True)
class ActsFor:
    """In whose place a person may act now, single requests first; and what they handed over."""

    mandates: tuple[Mandate, ...] = ()
    handed_over: tuple[UUID, ...] = ()


def acts_for(workspace: UUID, person: str) -> ActsFor:
    """For whom a person (`user:7`) may act, and which open requests they handed over."""
    rows = _read(workspace, person)
    handed = (one.request for some in rows.values() for one in some if one.person == person)
    return ActsFor(tuple(rows.get(person, ())), tuple(one for one in handed if one is not None))


def mandates(workspace: UUID, deputy: str) -> tuple[Mandate, ...]:
    """Those in whose place a person may act now."""
    return acts_for(workspace, deputy).mandates


def all_mandates(workspace: UUID) -> dict[str, list[Mandate]]:
    """{deputy: those in whose place they may act now} of a workspace."""
    return _read(workspace, None)


def _read(workspace: UUID, person: str | None) -> dict[str, list[Mandate]]:
    params = {"workspace": workspace, "person": person, "decides": DECIDES}
    results: dict[str, list[Mandate]] = defaultdict(list)
    for row in fetch_named(SQL.now, params):
        names = names_of(row.user, row.teams)
        results[row.deputy].append(Mandate(row.person, row.name, names, row.request))
    return dict(results)


def listed(workspace: UUID, *, person: str | None = None) -> list[DeputyRow]:
    """Deputies of now and later, the first to begin first; of one person: theirs, and for whom."""
    params = {"workspace": workspace, "person": person, "limit": LISTED}
    return [DeputyRow(**row._asdict()) for row in fetch_named(SQL.listed, params)]


def deputy(ident: UUID, *, workspace: UUID) -> DeputyRow:
    """One of those that `listed` lists; raises NotFound."""
    result = next((row for row in listed(workspace) if row.id == ident), None)
    if result is None:
        raise NotFound("There is no such deputy in this workspace.")
    return result
