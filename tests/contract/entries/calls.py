"""Calls of the API as entries: by a browser, with a token, and the signed delivery of a service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.test import Client

from dashboard.identity import permissions, tokens
from tests.contract.calls import example, send
from tests.contract.operations import Operation, operations
from tests.contract.things import make_token
from tests.contract.world import World
from tests.unit.dashboard import hooking

from .entry import PEOPLE, REFUSED, Entry, Knock, answered, browsers, swapped


def made_for(operation: Operation, world: World, foreign: bool) -> Any:
    """The good example of a call, with foreign things where that is wanted."""
    made = example(world, operation)
    if not foreign:
        return made
    params = {key: swapped(world, value) for key, value in made.params.items()}
    if "prefix" in params:
        params["prefix"] = make_token(world.cast, "stranger")
    if "user_id" in params:
        params["user_id"] = str(world.cast.users["stranger"].pk)
    body = made.body
    if body is not None:
        body = json.loads(swapped(world, json.dumps(body)))
    return made.but(params=params, body=body)


def call(operation: Operation, world: World, foreign: bool) -> Knock:
    """Make a call of the API with a login."""
    made, clients = made_for(operation, world, foreign), browsers(world)
    return lambda who: answered(send(clients[who], operation, made))


# A wrong password or code is counted and logged, so being refused writes; and no token opens these.
# Their tests stand in actions/people/test_step_up.py and identity/test_second_factor.py
# and test_passkeys.py.
BY_PASSWORD = {
    "sign_ins_password",
    "sign_ins_confirm",
    "second_factor_propose",
    "second_factor_add",
}
BY_PASSWORD |= {"second_factor_remove", "second_factor_confirm", "passkeys_remove"}


def calls() -> Iterator[Entry]:
    for name, operation in operations().items():
        if operation.method != "get" and name not in BY_PASSWORD:
            things = "{" in operation.path or "approvals" in operation.path
            yield Entry("call", name, partial(call, operation), names_things=things)


def by_token(operation: Operation, world: World, foreign: bool) -> Knock:
    """Make a call with a bearer token."""
    made, bearers = made_for(operation, world, foreign), tokens_of(world)
    return lambda who: answered(
        send(Client(), operation, made, Authorization=f"Bearer {bearers[who]}")
    )


def tokens_of(world: World) -> dict[str | None, str]:
    """A token of everybody, with all scopes that their roles can fill."""
    bearers: dict[str | None, str] = {
        None: "gp_" + "a" * 8 + "_" + "A" * 43,
        "nobody": "nonsense",
    }
    for who in PEOPLE:
        if who in bearers:
            continue
        user = world.cast.users[who]
        scopes = tokens.scopes_of(permissions.actor_of(user))
        bearers[who] = tokens.make(user, made_by="user:0", scopes=scopes)[1]
    with connection.cursor() as cursor:
        # Else the first use of each notes its time.
        cursor.execute("UPDATE gp_token SET last_used_at = clock_timestamp()")
    return bearers


# What holds agents is changed by people who are signed in; no token has a scope for it.
BY_LOGIN = {"policies_make", "policies_change", "policies_try", "caps_set", "budgets_set"}
BY_LOGIN |= {"identities_confirm", "access_changes_confirm", "access_changes_refuse"}


def token_calls() -> Iterator[Entry]:
    for name, operation in operations().items():
        if operation.method != "get" and name not in BY_PASSWORD | BY_LOGIN:
            things = "{" in operation.path
            yield Entry("token", name, partial(by_token, operation), names_things=things)


def hook(world: World, foreign: bool) -> Knock:
    """Carry a decision of somebody here; nobody signs with a secret of their own."""
    row = world.foreign_gate if foreign else world.gate
    ident, secret = world_hook(world)

    def knock(who: str | None) -> str:
        key = "whsec_" + "A" * 43 + "=" if who is None else secret
        body = hooking.verdict(row, by=who or "manager")
        return answered(hooking.send(Client(), ident, body, secret=key))

    # What is turned away is told to the workspace's log once a minute: for this minute, here.
    assert knock(None) == REFUSED
    return knock


def world_hook(world: World) -> tuple[UUID, str]:
    """A hook that knows everybody of the default workspace by their names."""
    people = [one for one in world.cast.users if one not in ("stranger", "nobody")]
    return hooking.made(world.cast, f"hook-{uuid4().hex[:8]}", **{name: name for name in people})
