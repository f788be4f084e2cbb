"""Things that calls are about, one of each kind."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from django.db import connection
from uuid_utils.compat import uuid7

from approvals.notify import endpoints
from approvals.notify.endpoints import Wanted
from checkpoints import store
from dashboard.administration import hooks
from dashboard.administration.deputies import NAME, NameDeputy
from dashboard.administration.devices import AddDevice, add_device
from dashboard.administration.subscriptions import MAKE, MakeSubscription
from dashboard.board.saved_views.view_actions import SAVE, SaveView
from dashboard.errors import NeedsSecondAdmin
from dashboard.gateway.registry import changes as mcp_servers
from dashboard.identity import permissions, tokens
from dashboard.identity.administrator import Administrator
from dashboard.identity.second_factor import codes, records
from dashboard.kit.action import read
from dashboard.memories.actions import REMEMBER, Remember
from dashboard.people.accounts import administration
from dashboard.people.logins import proposals
from dashboard.people.sso import identities
from tests.support.cast import Cast
from tests.unit.dashboard import hooking, scene
from tests.unit.dashboard.gateway import listing

ISSUER = "https://login.example.com"


def make_token(cast: Cast, name: str) -> str:
    """The prefix of a token of a person."""
    return tokens.make(cast.users[name], made_by="user:0")[0].prefix


def make_sign_in(cast: Cast, name: str) -> UUID:
    """A browser that a person is signed in with."""
    return UUID(cast.client(name).session["sign_in"])


def make_factor(cast: Cast, name: str) -> str:
    """The secret of a person's authenticator app, which has shown no code yet."""
    user, secret = cast.users[name], codes.new_secret()
    records.add(user, secret, 0, actor=f"user:{user.pk}")
    return secret


def linked(cast: Cast, name: str) -> str:
    """The id of a person for whom a provider speaks."""
    user = cast.users[name]
    identities.link(user, ISSUER, uuid4().hex, actor="user:0")
    return str(user.pk)


def code_of(secret: str) -> str:
    """The code that an app shows now."""
    return codes.code_at(secret, time.time())


def adding(cast: Cast, name: str) -> dict[str, str]:
    """What a person sends to add an app."""
    made = proposals.propose(cast.users[name])
    return {
        "ticket": made.ticket,
        "code": code_of(made.secret),
        "password": f"{name}-password",
    }


def make_erasure(workspace: UUID) -> UUID:
    """A request to erase a thread that nothing else needs."""
    thread = scene.start(workspace, scene.make_agent())
    store.cancel(thread, actor="user:0")
    words = {"scope": "thread", "reason": "consent", "actor": "user:0", "name": "nobody"}
    return store.request_erasure(thread, workspace=workspace, **words).id


def make_memory(cast: Cast) -> UUID:
    """A memory that all agents read, by the operator."""
    wanted = Remember(text="Weber is paid within 30 days.", kind="fact")
    return REMEMBER.run(cast.actor("operator"), wanted).id


def make_breaker(workspace: UUID) -> UUID:
    """An open breaker that stops nothing of the other examples."""
    selection = {"agent": "nobody"}
    return store.trip_breaker(workspace, selection, reason="prices", actor="user:0").id


def make_incident(workspace: UUID) -> UUID:
    """An open incident of an agent that has no threads."""
    made: UUID = uuid7()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_incident (id, workspace_id, agent, kind, fingerprint, reason, threads, "
            "affected) VALUES (%s, %s, 'nobody', 'thread.failed', %s, 'HTTP 503', 1, 1)",
            (made, workspace, made.hex),
        )
    return made


def make_mail(workspace: UUID) -> UUID:
    """An endpoint that writes to people."""
    wanted = Wanted(name=f"people {uuid4().hex[:8]}")
    return endpoints.make(workspace, "email", wanted, actor="user:0")[0]


def make_subscription(cast: Cast, name: str, mail: UUID) -> UUID:
    """A subscription of a person by such an endpoint."""
    wanted = MakeSubscription(endpoint=mail, kinds=["thread.failed"])
    return MAKE.run(cast.actor(name), wanted).id


def make_view(cast: Cast, name: str) -> UUID:
    """A shared view of a person."""
    wanted = SaveView(name=f"Failed {uuid4().hex[:8]}", address="status=failed", shared=True)
    return SAVE.run(cast.actor(name), wanted).id


# The keys of a browser: those of the example in RFC 8291.
DEVICE = {
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIA"
    "iw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}


def make_device(cast: Cast, name: str) -> UUID:
    """A device of somebody."""
    address = f"https://push.example/{uuid4().hex}"
    added = AddDevice(name="phone", address=address, **DEVICE)
    return add_device(cast.actor(name), added).id


def make_deputy(cast: Cast, person: str, deputy: str) -> UUID:
    """A deputy of somebody, for a week that is far."""
    begins = datetime.now(UTC) + timedelta(days=300)
    ends = begins + timedelta(days=7)
    times = {"begins": begins.isoformat(), "ends": ends.isoformat()}
    wanted = read(NameDeputy, {"deputy": deputy, **times})
    return NAME.run(cast.actor(person), wanted).id


def make_access_change(cast: Cast, *, elsewhere: bool = False) -> UUID:
    """A change of access of a viewer that another admin of their workspace has asked for."""
    workspace = cast.elsewhere if elsewhere else cast.workspace
    people = {}
    for role in ("admin", "viewer"):
        people[role] = get_user_model().objects.create_user(f"{role}-{uuid4().hex[:8]}")
        store.grant(workspace, people[role].pk, role, actor="user:0")
    actor = replace(permissions.actor_of(people["admin"]), login=permissions.Login("asks"))
    who = Administrator(actor, superuser=False)
    try:
        administration.grant_role(who, people["viewer"].pk, "reviewer", workspace=None)
    except NeedsSecondAdmin as waits:
        return UUID(waits.facts["change"])
    raise AssertionError("nobody was asked")


def make_inbound(cast: Cast, name: str) -> UUID:
    """An inbound hook in somebody's workspace; its word U1 stands for a member of it."""
    who = cast.actor(name)
    hook = hooking.created(who, f"inbound-{uuid4().hex[:8]}").id
    member = cast.users["manager"].pk if who.workspace == cast.workspace else who.user_id
    hooks.map_identity(who, hook, "U1", member)
    return hook


def make_identity(cast: Cast, name: str) -> UUID:
    """A word of a new hook that stands for a person of the cast, who has not confirmed it."""
    who = cast.actor("stranger" if name == "stranger" else "admin")
    hook = hooking.created(who, f"inbound-{uuid4().hex[:8]}").id
    return hooks.map_identity(who, hook, "U1", cast.users[name].pk).id


def make_mcp_server(workspace: UUID, name: str = "notes") -> UUID:
    """An MCP server whose one tool was listed otherwise before."""
    wanted = mcp_servers.Wanted(url=listing.address())
    row = mcp_servers.add(workspace, name, wanted, actor="user:0")
    mcp_servers.note_listed(row, [listing.FORMER], actor="user:0")
    return row.id


def make_encrypted(cast: Cast) -> UUID:
    """A thread with an encrypted channel that every member may read."""
    note = {"reducer": "last_value", "encrypted": list(permissions.ROLES)}
    version = store.announce_version(
        agent="keeper",
        version=1,
        fingerprint="e" * 64,
        label="Keeper",
        description="Keeps a note",
        schema_version=1,
        schema={"type": "object", "properties": {"note": {"type": "string"}}},
        channels={"note": note},
        graph={"entry": ["keep"], "nodes": [{"name": "keep", "then": [], "label": "Keep"}]},
        tools={},
        queue="gatepost",
    )
    return scene.start(cast.workspace, version, note="a note for members only")
