"""Recipients of news: the people who may decide a request, as their roles are at this moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import connection

from checkpoints import queries as ground
from checkpoints.postgres.named_rows import fetch_named

from ..queries import ApprovalRow, deputies
from ..rules.deputies import Mandate, turn_of
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
    full_name: str = ""

    @property
    def shown(self) -> str:
        """The name that people read."""
        return self.full_name or self.name

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
        "SELECT u.id, u.username, u.email, "
        "trim(u.first_name || ' ' || u.last_name) AS full_name, "
        "coalesce(array_agg(DISTINCT g.name::text) FILTER "
        "(WHERE g.name IS NOT NULL), '{}') AS teams FROM gp_membership m "
        f"JOIN {quote(user.db_table)} u ON u.id = m.user_id AND u.is_active "
        f"LEFT JOIN {quote(through.db_table)} b ON b.user_id = u.id "
        f"LEFT JOIN {quote(group.db_table)} g ON g.id = b.group_id "
        "WHERE m.workspace_id = %s::uuid AND m.role = ANY(%s::text[]) "
        "GROUP BY u.id, u.username, u.email, full_name ORDER BY u.username",
        (workspace, list(roles)),
    )
    return [
        Person(f"user:{r.id}", r.username, r.email, frozenset(r.teams), r.full_name) for r in rows
    ]


def deciders(workspace: UUID) -> list[Person]:
    """Active members who may decide, by name."""
    return members(workspace, DECIDES)


def wanted(person: Person, *, people: Sequence[str], teams: Sequence[str]) -> bool:
    """Answer True if an endpoint that names these means the person; nobody named: everybody."""
    return Seat(tuple(people), tuple(teams)).admits(person.names)


def due(people: Sequence[Person], row: ApprovalRow, *, escalated: bool = False) -> list[Person]:
    """Those of these people whose turn it is in a request, as the gate wrote it.

    Deputies are notified in the place of whom they represent. `escalated`: the news is about the
    escalation, so it concerns those whom that names.
    """
    called_in = terms_of(row.terms).escalate_to if escalated else None
    mandates = deputies.all_mandates(row.workspace)
    results, represented = [], set[str]()
    for one in people:
        if called_in is not None and not called_in.admits(one.names):
            continue
        theirs = partial(tuple[Mandate, ...], mandates.get(one.id, ()))
        turn = turn_of(row.progress, one.id, one.names, theirs, request=row.id)
        if turn.part is Part.DUE:
            results.append(one)
            if turn.mandate is not None:
                represented.add(turn.mandate.person)
    return [one for one in results if one.id not in represented]


def unknown(workspace: UUID, *, people: Sequence[str], teams: Sequence[str]) -> list[str]:
    """Those of these names that nobody in the workspace has; people elsewhere do not exist."""
    members = get_user_model()._default_manager.filter(pk__in=ground.people_of(workspace))
    users = members.filter(username__in=people)
    known = set(users.values_list("username", flat=True))
    groups = set(Group.objects.filter(name__in=teams).values_list("name", flat=True))
    return [n for n in people if n not in known] + [n for n in teams if n not in groups]
