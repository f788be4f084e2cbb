"""Who somebody is where requests name people and teams: user name and groups."""

from __future__ import annotations

from django.contrib.auth import get_user_model

from approvals.inbox import Person

from .permissions import Actor


def person_of(actor: Actor) -> Person:
    """The person behind an actor, whatever they act through: one statement."""
    found = list(
        get_user_model()
        ._default_manager.filter(pk=actor.user_id)
        .values_list("username", "groups__name")
    )
    name = str(found[0][0]) if found else ""
    return Person(actor.person, name, tuple(sorted(team for _, team in found if team)))
