"""Who somebody is where requests name people and teams: user name and groups."""

from __future__ import annotations

from django.contrib.auth import get_user_model

from approvals.inbox import Person

from .permissions import Actor


def person_of(actor: Actor) -> Person:
    """The person behind an actor, whatever they act through."""
    return Person(actor.person, *seat_of(actor))


def seat_of(actor: Actor) -> tuple[str, tuple[str, ...]]:
    """(user name, groups); one statement unless they were read with the actor's roles."""
    if actor.seat is not None:
        return actor.seat
    found = list(
        get_user_model()
        ._default_manager.filter(pk=actor.user_id)
        .values_list("username", "groups__name")
    )
    name = str(found[0][0]) if found else ""
    return name, tuple(sorted(team for _, team in found if team))
