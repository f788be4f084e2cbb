"""One thing of each kind, of this workspace or of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from django.db import connection

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from checkpoints import store
from checkpoints.memories import NewMemory
from dashboard.administration import hooks
from dashboard.administration.endpoints import MAKE, MakeEndpoint
from dashboard.identity import tokens
from tests.contract.things import (
    make_access_change,
    make_breaker,
    make_deputy,
    make_device,
    make_erasure,
    make_identity,
    make_inbound,
    make_incident,
    make_mail,
    make_mcp_server,
    make_sign_in,
    make_subscription,
    make_view,
)
from tests.contract.world import World
from tests.unit.dashboard import hooking


def user(world: World, foreign: bool) -> int:
    return int(world.cast.users["stranger" if foreign else "viewer"].pk)


def person(world: World, foreign: bool) -> dict[str, Any]:
    user = world.cast.users["stranger" if foreign else "viewer"]
    return {"username": user.username, "first_name": "New", "is_active": "on"}


def role(world: World, foreign: bool) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM gp_membership WHERE user_id = %s", [user(world, foreign)])
        return int(cursor.fetchone()[0])


def token(world: World, foreign: bool) -> str:
    user = world.cast.users["stranger" if foreign else "operator"]
    row, _ = tokens.make(user, made_by="user:0")
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM gp_token WHERE prefix = %s", [row.prefix])
        return str(cursor.fetchone()[0])


def hook(world: World, foreign: bool) -> str:
    who = world.cast.actor("stranger" if foreign else "admin")
    return str(hooking.created(who, f"entry-{uuid4().hex[:8]}").id)


def identity(world: World, foreign: bool) -> str:
    who = world.cast.actor("stranger" if foreign else "admin")
    return str(hooks.map_identity(who, UUID(hook(world, foreign)), "U1", who.user_id).id)


def policy(world: World, foreign: bool) -> str:
    if not foreign:
        return str(world.policy)
    draft = Draft(f"Entry point {uuid4().hex[:8]}", "tool == 'mail'")
    return str(policies.make(world.cast.elsewhere, draft, actor="user:0").policy)


def endpoint(world: World, foreign: bool) -> str:
    if not foreign:
        return str(world.hook)
    target = "https://agent.example/in"
    wanted = MakeEndpoint(kind="webhook", name=f"entry point {uuid4().hex[:8]}", target=target)
    return str(MAKE.run(world.cast.actor("stranger"), wanted).id)


def inbound(world: World, foreign: bool) -> str:
    return str(make_inbound(world.cast, "stranger") if foreign else world.inbound)


def mcp_server(world: World, foreign: bool) -> str:
    if not foreign:
        return str(world.mcp)
    return str(make_mcp_server(world.cast.elsewhere, f"entry-{uuid4().hex[:8]}"))


def breaker(world: World, foreign: bool) -> str:
    return str(make_breaker(world.cast.elsewhere if foreign else world.cast.workspace))


def memory(world: World, foreign: bool) -> str:
    if not foreign:
        return str(world.memory)
    new = NewMemory("workspace", "", "fact", "Elsewhere.", source="person")
    return str(store.remember(world.cast.elsewhere, new, actor="user:0").id)


def erasure(world: World, foreign: bool) -> str:
    return str(make_erasure(world.cast.elsewhere if foreign else world.cast.workspace))


def incident(world: World, foreign: bool) -> str:
    return str(make_incident(world.cast.elsewhere if foreign else world.cast.workspace))


def mail(world: World, foreign: bool) -> str:
    return str(make_mail(world.cast.elsewhere) if foreign else world.mail)


def subscription(world: World, foreign: bool) -> str:
    if not foreign:
        return str(world.subscription)
    return str(make_subscription(world.cast, "stranger", make_mail(world.cast.elsewhere)))


def view(world: World, foreign: bool) -> str:
    return str(make_view(world.cast, "stranger") if foreign else world.view)


def sign_in(world: World, foreign: bool) -> str:
    return str(make_sign_in(world.cast, "stranger") if foreign else world.sign_in)


def device(world: World, foreign: bool) -> str:
    return str(make_device(world.cast, "stranger") if foreign else world.device)


def deputy(world: World, foreign: bool) -> str:
    if not foreign:
        return str(world.deputy)
    cast = world.cast
    user = get_user_model().objects.create_user(f"reviewer-{uuid4().hex[:8]}")
    store.grant(cast.elsewhere, user.pk, "reviewer", actor="user:0")
    return str(make_deputy(cast, "stranger", user.username))


def own_identity(world: World, foreign: bool) -> str:
    return str(make_identity(world.cast, "stranger") if foreign else world.identity)


def access(world: World, foreign: bool) -> str:
    return str(make_access_change(world.cast, elsewhere=True) if foreign else world.access)


# What the world has of ours beside threads and requests: how something of others is made.
FOREIGN: dict[str, Callable[[World, bool], str]] = {
    "policy": policy,
    "hook": endpoint,
    "inbound": inbound,
    "mcp": mcp_server,
    "breaker": breaker,
    "erasure": erasure,
    "memory": memory,
    "incident": incident,
    "taken": incident,
    "snoozed": incident,
    "mail": mail,
    "subscription": subscription,
    "view": view,
    "sign_in": sign_in,
    "deputy": deputy,
    "device": device,
    "access": access,
    "identity": own_identity,
}
