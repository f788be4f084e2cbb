"""A person's names in the seats of requests: user name and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

from django.contrib.auth import get_user_model

from approvals.inbox.boxes import Person
from approvals.queries import deputies
from approvals.rules.deputies import Mandate
from checkpoints import queries
from checkpoints.postgres import reads as prepared
from checkpoints.queries.installation.fleet import member_of, member_query

from .permissions import Actor, may


def user_query(which: prepared.Query) -> prepared.Query:
    """The question behind `user_of`; `which` is the condition on the user's row `u`."""
    table, _, columns = _users()
    return member_query(which, table=table, own=columns)


def user_of(result: Sequence[tuple[Any, ...]]) -> Any:
    """The user of these rows, with what `permissions.actor_of` will ask; None where there is none.

    Also one who may not sign in.
    """
    row = member_of(result)
    if row is None:
        return None
    model: Any = get_user_model()
    user = model.from_db("default", _users()[1], row.own)
    user.read_now = row
    user.factor_roles = row.factor_roles
    return user


@cache
def _users() -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """(the table of users, the names of its fields, their columns)."""
    model = get_user_model()._meta
    fields = model.concrete_fields
    names, columns = tuple(f.attname for f in fields), tuple(str(f.column) for f in fields)
    return str(model.db_table), names, columns


def person_of(actor: Actor) -> Person:
    """The person behind an actor, whatever they act through, and for whom they may act."""
    return Person(actor.person, *seat_of(actor), represents(actor).acts_for)


def seat_of(actor: Actor) -> tuple[str, tuple[str, ...]]:
    """(user name, groups); one statement unless they were read with the actor's roles."""
    if actor.seat is not None:
        return actor.seat
    model: Any = get_user_model()
    name = str(model._meta.get_field(model.USERNAME_FIELD).column)
    result = queries.member(actor.user_id, table=model._meta.db_table, own=(name,))
    return ("", ()) if result is None else (str(result.own[0]), result.groups)


class Represents:
    """For whom a person may act now: read at most once, and only where it matters."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    @cached_property
    def acts_for(self) -> deputies.ActsFor:
        if not may(self._actor, "decide"):
            return deputies.ActsFor()
        return deputies.acts_for(self._actor.workspace, self._actor.person)

    def __call__(self) -> Sequence[Mandate]:
        return self.acts_for.mandates


def represents(actor: Actor) -> Represents:
    """For whom an actor may act; the same answer again for one who is `seated`."""
    known: Represents | None = actor.represents
    return Represents(actor) if known is None else known


def seated(actor: Actor) -> Actor:
    """The actor with user name and groups, so that all that need them ask the database once."""
    return replace(actor, seat=seat_of(actor), represents=represents(actor))
