"""Who somebody is where requests name people and teams: user name and groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib.auth import get_user_model

from approvals.inbox.boxes import Person
from checkpoints import queries

from .permissions import Actor


def person_of(actor: Actor) -> Person:
    """The person behind an actor, whatever they act through."""
    return Person(actor.person, *seat_of(actor))


def seat_of(actor: Actor) -> tuple[str, tuple[str, ...]]:
    """(user name, groups); one statement unless they were read with the actor's roles."""
    if actor.seat is not None:
        return actor.seat
    model: Any = get_user_model()
    name = str(model._meta.get_field(model.USERNAME_FIELD).column)
    result = queries.member(actor.user_id, table=model._meta.db_table, own=(name,))
    return ("", ()) if result is None else (str(result.own[0]), result.groups)


def seated(actor: Actor) -> Actor:
    """The actor with user name and groups, so that whoever needs them asks the database once."""
    return replace(actor, seat=seat_of(actor))
