"""A person's names in the seats of requests: user name and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from django.contrib.auth import get_user_model

from approvals.inbox.boxes import Person
from approvals.queries import deputies
from approvals.rules.deputies import Mandate
from checkpoints import queries

from .permissions import Actor, may


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
    """The actor with user name and groups, so that whoever needs them asks the database once."""
    return replace(actor, seat=seat_of(actor), represents=represents(actor))
