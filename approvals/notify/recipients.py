"""Who is told: the people who may decide a request, as their roles are at this moment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import connection

from checkpoints import queries as ground

from .. import queries
from ..terms import Seat, terms_of

# The role behind the right to decide; a test compares it with the table of rights.
DECIDES: Final = "reviewer"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may decide in a workspace; `id` as logs name them."""

    id: str
    name: str
    mail: str
    teams: frozenset[str]


def deciders(workspace: UUID) -> list[Person]:
    """Active members who may decide, by name: one statement."""
    user, group = get_user_model()._meta, Group._meta
    through = get_user_model().groups.through._meta
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT u.id, u.username, u.email, coalesce(array_agg(g.name::text) "
            f"FILTER (WHERE g.name IS NOT NULL), '{{}}') FROM gp_membership m "
            f"JOIN {quote(user.db_table)} u ON u.id = m.user_id AND u.is_active "
            f"LEFT JOIN {quote(through.db_table)} b ON b.user_id = u.id "
            f"LEFT JOIN {quote(group.db_table)} g ON g.id = b.group_id "
            "WHERE m.workspace_id = %s::uuid AND m.role = %s::varchar "
            "GROUP BY u.id, u.username, u.email ORDER BY u.username",
            (workspace, DECIDES),
        )
        rows = cursor.fetchall()
    return [Person(f"user:{row[0]}", row[1], row[2], frozenset(row[3])) for row in rows]


def wanted(person: Person, *, people: Sequence[str], teams: Sequence[str]) -> bool:
    """Whether an endpoint or a stage that names these means the person; nobody named: everybody."""
    return not (people or teams) or person.name in people or not person.teams.isdisjoint(teams)


def may_decide(person: Person, terms: Any, *, escalated: bool = False, stage: int = 0) -> bool:
    """Whether a request on these stored terms can be decided by the person.

    `escalated`: it is about the escalation, so it concerns those whom that names. `stage`, from 1:
    it is about this stage alone.
    """
    found = terms_of(terms)
    if person.id in found.barred:
        return False
    seats: Iterable[Seat] = found.stages
    if escalated and found.escalate_to is not None:
        seats = (found.escalate_to,)
    elif stage:
        seats = found.stages[stage - 1 : stage]
    return any(wanted(person, people=seat.people, teams=seat.teams) for seat in seats)


def voters(approval: UUID) -> set[str]:
    """The people whose approval of a request counts already: there is nothing to remind them of."""
    return {vote.person for vote in queries.votes(approval) if vote.counts}


def unknown(workspace: UUID, *, people: Sequence[str], teams: Sequence[str]) -> list[str]:
    """Those of these names that nobody in the workspace has; people elsewhere do not exist."""
    members = get_user_model()._default_manager.filter(pk__in=ground.people_of(workspace))
    users = members.filter(username__in=people)
    known = set(users.values_list("username", flat=True))
    groups = set(Group.objects.filter(name__in=teams).values_list("name", flat=True))
    return [n for n in people if n not in known] + [n for n in teams if n not in groups]
