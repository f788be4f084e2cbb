"""Who is told: the people who may decide a request, as their roles are at this moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import connection

from checkpoints import queries as ground
from checkpoints.postgres.named_rows import fetch_named

from ..queries import ApprovalRow
from ..rules.terms import Seat, names_of, terms_of
from ..rules.votes import Part

# The role behind the right to decide; a test compares it with the table of rights.
DECIDES: Final = "reviewer"
# Who starts, retries and cancels threads.
WORKS_ON_THREADS: Final = ("operator",)
# Who looks after the record.
GUARDS_RECORD: Final = ("auditor", "admin")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may decide in a workspace; `id` as logs name them."""

    id: str
    name: str
    mail: str
    teams: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which seats can mean the person."""
        return names_of(self.name, self.teams)


def members(workspace: UUID, *roles: str) -> list[Person]:
    """Active members with one of these roles, by name: one statement."""
    user, group = get_user_model()._meta, Group._meta
    through = get_user_model().groups.through._meta
    quote = connection.ops.quote_name
    rows = fetch_named(
        "SELECT u.id, u.username, u.email, coalesce(array_agg(DISTINCT g.name::text) "
        "FILTER (WHERE g.name IS NOT NULL), '{}') AS teams FROM gp_membership m "
        f"JOIN {quote(user.db_table)} u ON u.id = m.user_id AND u.is_active "
        f"LEFT JOIN {quote(through.db_table)} b ON b.user_id = u.id "
        f"LEFT JOIN {quote(group.db_table)} g ON g.id = b.group_id "
        "WHERE m.workspace_id = %s::uuid AND m.role = ANY(%s::text[]) "
        "GROUP BY u.id, u.username, u.email ORDER BY u.username",
        (workspace, list(roles)),
    )
    return [Person(f"user:{row.id}", row.username, row.email, frozenset(row.teams)) for row in rows]


def deciders(workspace: UUID) -> list[Person]:
    """Active members who may decide, by name."""
    return members(workspace, DECIDES)


def wanted(person: Person, *, people: Sequence[str], teams: Sequence[str]) -> bool:
    """Whether an endpoint that names these means the person; nobody named: everybody."""
    return Seat(tuple(people), tuple(teams)).admits(person.names)


def is_due(person: Person, row: ApprovalRow, *, escalated: bool = False) -> bool:
    """Whether it is the person's turn in a request, as the gate wrote it.

    `escalated`: the news is about the escalation, so it concerns those whom that names.
    """
    called_in = terms_of(row.terms).escalate_to if escalated else None
    if called_in is not None and not called_in.admits(person.names):
        return False
    return row.progress.part(person.id, person.names) is Part.DUE


def unknown(workspace: UUID, *, people: Sequence[str], teams: Sequence[str]) -> list[str]:
    """Those of these names that nobody in the workspace has; people elsewhere do not exist."""
    members = get_user_model()._default_manager.filter(pk__in=ground.people_of(workspace))
    users = members.filter(username__in=people)
    known = set(users.values_list("username", flat=True))
    groups = set(Group.objects.filter(name__in=teams).values_list("name", flat=True))
    return [n for n in people if n not in known] + [n for n in teams if n not in groups]
