"""Every door that changes something, and how to knock at it as anybody.

The doors are enumerated from the product: addresses, calls of the document, pages of the admin
site, messages of sockets, verbs of commands. What stands here is how to use each of them, so the
test fails for one that nobody has described: add it to the table of its kind.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.management import call_command, get_commands, load_command_class
from django.db import connection
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

from approvals import queries as requests
from approvals.notify.endpoints import Wanted
from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.queries import ApprovalRow
from checkpoints import store
from checkpoints.admin.lists import Records
from dashboard import actions
from dashboard.actions import external, hooks
from dashboard.actions.directory import provisioned
from dashboard.actions.people import administration
from dashboard.actions.people.accounts import change_account
from dashboard.api.scim import urls as scim_urls
from dashboard.identity import permissions, tokens
from dashboard.identity.permissions import Actor
from dashboard.identity.sso import identities
from dashboard.mcp.registry.definitions import definition_of, hash_of
from dashboard.mcp.server.protocol import call_tool
from dashboard.mcp.server.tools import TOOLS
from dashboard.mcp.server.tools.calls import ApiAnswer, ApiCall
from dashboard.records.policy_form import PolicyForm
from tests.cast import PEOPLE as CAST
from tests.contract.calls import (
    Operation,
    World,
    example,
    make_breaker,
    make_deputy,
    make_device,
    make_erasure,
    make_inbound,
    make_incident,
    make_mail,
    make_mcp_server,
    make_sign_in,
    make_subscription,
    make_token,
    make_view,
    next_node,
    operations,
    send,
)
from tests.dashboard import hooking
from tests.dashboard.mcp import listing

from .starts import noticed
from .test_pages_and_calls import FORMS, QUERY

OURS = ("dashboard", "workers", "approvals", "checkpoints")
REFUSED, FORBIDDEN, MISSING = "refused", "forbidden", "missing"

# Modules whose functions are the choke point: what `actions` offers, and what stands beside it.
CHOKE = {
    getattr(actions, name).__module__
    for name in actions.__all__
    if callable(getattr(actions, name)) and not isinstance(getattr(actions, name), type)
} - {"dashboard.identity.permissions"}
CHOKE |= {administration.__name__, hooks.__name__, provisioned.__name__}
CHOKE |= {getattr(external, name).__module__ for name in external.__all__}


type Knock = Callable[[str | None], str]
PEOPLE = (None, "viewer", "operator", "manager", "auditor", "admin", "nobody", "stranger")


@dataclass(frozen=True)
class Door:
    """One way in: `prepare(world, foreign)` gives what knocks as somebody, None for nobody.

    A knock answers a word of `said`. With `foreign` it asks for things of another workspace.
    `nobody` is False where a process of the machine itself knocks: there is no anonymous.
    """

    kind: str
    name: str
    prepare: Callable[[World, bool], Knock]
    names_things: bool = True
    nobody: bool = True


def outcome_of(status: int, location: str = "") -> str:
    """An answer as one word: what became of who knocked."""
    if status == 401 or (status in (301, 302) and "/login/" in location):
        return REFUSED
    return {403: FORBIDDEN, 404: MISSING}.get(status, "in" if status < 400 else f"{status}")


def browsers(world: World) -> dict[str | None, Any]:
    """A browser of everybody; one of nobody under None."""
    return {who: Client() if who is None else world.cast.client(who) for who in PEOPLE}


def answered(answer: Any) -> str:
    """What became of one request; of several verdicts at once, what became of all of them."""
    if answer.status_code == 200 and answer.headers["Content-Type"] == "application/json":
        one_by_one = answer.json().get("results", [])
        words = {outcome_of(one["status"]) for one in one_by_one if "problem" in one}
        if len(words) == 1:
            return words.pop()
    return outcome_of(answer.status_code, answer.headers.get("Location", ""))


def swapped(world: World, text: str) -> str:
    """The same words with things of another workspace in the place of ours."""
    foreign = world.foreign_gate
    for one in fields(world):
        if one.name in ("cast", "agent", "first") or one.name.startswith("foreign"):
            continue
        ours = getattr(world, one.name)
        if one.name in FOREIGN and str(ours) in text:
            text = text.replace(str(ours), FOREIGN[one.name](world, True))
            continue
        if isinstance(ours, ApprovalRow):
            text = text.replace(str(ours.id), str(foreign.id))
            text = text.replace(ours.proposal_hash, foreign.proposal_hash)
            ours = ours.thread
        thread = ours[0] if isinstance(ours, tuple) else ours
        text = text.replace(str(thread), str(world.foreign))
    return text


# --- pages ----------------------------------------------------------------------------------------


# Pages that decide several things at once say 409 where none of them was done.
SEVERAL = {"approvals_decide"}


def page(name: str, world: World, foreign: bool) -> Knock:
    """Send the form of a page."""
    _, ids, form = FORMS[name](world)
    path = reverse(name, args=ids) + QUERY.get(name, "")
    form = {key: str(value) for key, value in form.items()}
    if foreign:
        path, form = swapped(world, path), json.loads(swapped(world, json.dumps(form)))
    clients = browsers(world)

    def knock(who: str | None) -> str:
        answer = clients[who].post(path, form)
        if name in SEVERAL and answer.status_code == 409:
            assert b"no such request" in answer.content
            return MISSING
        return answered(answer)

    return knock


# The last: of many threads each is refused by itself; nothing is done to those of others.
NO_NAMES = (
    *("thread_new", "breaker_trip", "subscription_new", "quiet_hours", "budgets", "view_new"),
    *("threads_many", "sign_ins_end_others", "deputies", "device_add"),
    *("second_factor_add", "second_factor_remove", "passkey_remove"),
)


def pages() -> Iterator[Door]:
    for name in FORMS:
        names = name not in NO_NAMES
        yield Door("page", name, partial(page, name), names_things=names)


# --- calls ----------------------------------------------------------------------------------------


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
BY_PASSWORD = {"sign_ins_confirm", "second_factor_propose", "second_factor_add"}
BY_PASSWORD |= {"second_factor_remove", "second_factor_confirm", "passkeys_remove"}


def calls() -> Iterator[Door]:
    for name, operation in operations().items():
        if operation.method != "get" and name not in BY_PASSWORD:
            things = "{" in operation.path or "approvals" in operation.path
            yield Door("call", name, partial(call, operation), names_things=things)


# --- calls of scripts: with a token that carries everything its user may ----------------------


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


def token_calls() -> Iterator[Door]:
    for name, operation in operations().items():
        if operation.method != "get" and name not in BY_PASSWORD:
            things = "{" in operation.path
            yield Door("token", name, partial(by_token, operation), names_things=things)


# --- tools of the MCP server ----------------------------------------------------------------------

PAY = {"name": "door-1", "tool": "pay", "args": {"amount": "1.00"}, "title": "Pay"}
# Those that only read open nothing that the calls of the API do not.
MCP_TOOLS: dict[str, Callable[[World], dict[str, Any]]] = {
    "start": lambda w: {"agent": "research", "input": {"goal": "delays"}},
    "input": lambda w: {"thread": str(w.inbox), "message": "and the rain"},
    "fork": lambda w: {"thread": str(w.ended), "checkpoint": str(w.first)},
    "roll_back": lambda w: {"thread": str(w.ended), "checkpoint": str(w.first), "reason": "no"},
    "save_state": lambda w: {"name": w.saved, "state": {"turn": 2}},
    "request_approval": lambda w: PAY,
    "report_outcome": lambda w: _let_through(w),
    "ask": lambda w: {"name": "door-2", "question": "Why?"},
    "decide": lambda w: {
        "approval": str(w.gate.id),
        "verdict": "approve",
        "proposal_hash": w.gate.proposal_hash,
    },
}


def answer_of(name: str, arguments: dict[str, Any], token: str) -> ApiAnswer:
    """What a tool answers to the bearer of a token, without the network."""

    async def api(call: ApiCall) -> ApiAnswer:
        raw = "" if call.body is None else json.dumps(call.body)
        headers = {**call.headers, "Authorization": f"Bearer {token}"}
        path = f"/api/v1/{call.path}?{urlencode(call.query)}"
        kind = "application/json"
        made: Any = Client().generic(call.method, path, raw, content_type=kind, headers=headers)
        return ApiAnswer(made.status_code, made.json())

    work = call_tool(TOOLS[name], arguments, api)
    try:
        work.send(None)
    except StopIteration as end:
        answer: ApiAnswer = end.value
        return answer
    raise AssertionError(f"{name} waits for something")


def _let_through(world: World) -> dict[str, Any]:
    """A call that a reviewer has approved and the operator's agent has begun."""
    token = tokens_of(world)["operator"]
    thread = answer_of("request_approval", PAY, token).data["thread"]["id"]
    (row,) = requests.for_thread(UUID(thread), open_only=True)
    actions.decide(world.cast.actor("manager"), row.id, "approve", row.standing_hash)
    begun = answer_of("request_approval", PAY, token).data
    assert begun["do"] == "call", begun
    return {"thread": thread, "lease": begun["lease"], "tool": "pay", "state": "done"}


def tool(name: str, world: World, foreign: bool) -> Knock:
    """Call a tool with a bearer token."""
    arguments = MCP_TOOLS[name](world)
    if foreign:
        arguments = json.loads(swapped(world, json.dumps(arguments)))
        if name == "report_outcome":
            arguments["thread"] = str(world.foreign)
    bearers = tokens_of(world)
    return lambda who: outcome_of(answer_of(name, arguments, bearers[who]).status)


def tools() -> Iterator[Door]:
    for name in MCP_TOOLS:
        things = name in ("input", "fork", "roll_back", "report_outcome", "decide")
        yield Door("mcp", name, partial(tool, name), names_things=things)


# --- the directory --------------------------------------------------------------------------------

# {address: {method: body}}; the person and the group are made for each door.
SCIM: dict[str, dict[str, dict[str, Any]]] = {
    "users": {"post": {"userName": "door-new"}},
    "user": {
        "put": {"userName": "door-changed"},
        "patch": {"Operations": [{"op": "replace", "path": "active", "value": False}]},
        "delete": {},
    },
    "groups": {"post": {"displayName": "door-new"}},
    "group": {
        "put": {"displayName": "door-changed"},
        "patch": {"Operations": [{"op": "replace", "path": "displayName", "value": "door-2"}]},
        "delete": {},
    },
}


def scim(name: str, method: str, world: World, foreign: bool) -> Knock:
    """Call SCIM with the bearer token of a directory; the admin is a superuser meanwhile."""
    row = world.cast.users["admin"]
    row.refresh_from_db()  # as it is once more, since the door before was taken back
    change_account(row, {"is_superuser": True}, actor="user:0", workspace=world.cast.workspace)
    who = administration.Administrator(world.cast.actor("admin"), superuser=True)
    user = provisioned.provision(who, {"username": f"door-{uuid4().hex[:8]}"})
    group = provisioned.save_group(who, None, name=f"door-{uuid4().hex[:8]}", members=[user.pk])
    ids = {"user": [user.pk], "group": [group.pk]}.get(name, [])
    path, bearers = reverse(f"scim:{name}", args=ids), tokens_of(world)
    raw = json.dumps(SCIM[name][method])

    def knock(who: str | None) -> str:
        headers = {"Authorization": f"Bearer {bearers[who]}"}
        made: Any = Client().generic(
            method.upper(), path, raw, content_type="application/scim+json", headers=headers
        )
        return outcome_of(made.status_code)

    return knock


def scim_doors() -> Iterator[Door]:
    for name, methods in SCIM.items():
        for method in methods:
            knock = partial(scim, name, method)
            # People and groups belong to the installation: there are none of another workspace.
            yield Door("scim", f"{name} {method}", knock, names_things=False)


def scim_addresses() -> set[str]:
    """Each address of SCIM with each method that changes something."""
    return {
        f"{one.name} {method}"
        for one in scim_urls.urlpatterns
        for method in ("post", "put", "patch", "delete")
        if one.name and hasattr(one.callback.view_class, method)
    }


# --- the inbound hook -----------------------------------------------------------------------------


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


# --- the admin site -------------------------------------------------------------------------------

type Form = tuple[str, dict[str, Any]]


def _user(world: World, foreign: bool) -> int:
    return int(world.cast.users["stranger" if foreign else "viewer"].pk)


def _person(world: World, foreign: bool) -> dict[str, Any]:
    user = world.cast.users["stranger" if foreign else "viewer"]
    return {"username": user.username, "first_name": "New", "is_active": "on"}


def _role(world: World, foreign: bool) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM gp_membership WHERE user_id = %s", [_user(world, foreign)])
        return int(cursor.fetchone()[0])


def _token(world: World, foreign: bool) -> str:
    user = world.cast.users["stranger" if foreign else "operator"]
    row, _ = tokens.make(user, made_by="user:0")
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM gp_token WHERE prefix = %s", [row.prefix])
        return str(cursor.fetchone()[0])


def _hook(world: World, foreign: bool) -> str:
    who = world.cast.actor("stranger" if foreign else "admin")
    return str(hooks.create_hook(who, f"door-{uuid4().hex[:8]}")[0].id)


def _identity(world: World, foreign: bool) -> str:
    who = world.cast.actor("stranger" if foreign else "admin")
    return str(hooks.map_identity(who, UUID(_hook(world, foreign)), "U1", who.user_id).id)


def _policy(world: World, foreign: bool) -> str:
    if not foreign:
        return str(world.policy)
    draft = Draft(f"Door {uuid4().hex[:8]}", "tool == 'mail'")
    return str(policies.make(world.cast.elsewhere, draft, actor="user:0").policy)


def _endpoint(world: World, foreign: bool) -> str:
    if not foreign:
        return str(world.hook)
    wanted = Wanted(name=f"door {uuid4().hex[:8]}", target="https://agent.example/in")
    return str(actions.make_endpoint(world.cast.actor("stranger"), "webhook", wanted)[0].id)


def _inbound(world: World, foreign: bool) -> str:
    return str(make_inbound(world.cast, "stranger") if foreign else world.inbound)


def _mcp_server(world: World, foreign: bool) -> str:
    if not foreign:
        return str(world.mcp)
    return str(make_mcp_server(world.cast.elsewhere, f"door-{uuid4().hex[:8]}"))


def _breaker(world: World, foreign: bool) -> str:
    return str(make_breaker(world.cast.elsewhere if foreign else world.cast.workspace))


def _erasure(world: World, foreign: bool) -> str:
    return str(make_erasure(world.cast.elsewhere if foreign else world.cast.workspace))


def _incident(world: World, foreign: bool) -> str:
    return str(make_incident(world.cast.elsewhere if foreign else world.cast.workspace))


def _mail(world: World, foreign: bool) -> str:
    return str(make_mail(world.cast.elsewhere) if foreign else world.mail)


def _subscription(world: World, foreign: bool) -> str:
    if not foreign:
        return str(world.subscription)
    return str(make_subscription(world.cast, "stranger", make_mail(world.cast.elsewhere)))


def _view(world: World, foreign: bool) -> str:
    return str(make_view(world.cast, "stranger") if foreign else world.view)


def _sign_in(world: World, foreign: bool) -> str:
    return str(make_sign_in(world.cast, "stranger") if foreign else world.sign_in)


def _device(world: World, foreign: bool) -> str:
    return str(make_device(world.cast, "stranger") if foreign else world.device)


def _deputy(world: World, foreign: bool) -> str:
    if not foreign:
        return str(world.deputy)
    cast = world.cast
    user = get_user_model().objects.create_user(f"reviewer-{uuid4().hex[:8]}")
    store.grant(cast.elsewhere, user.pk, "reviewer", actor="user:0")
    return str(make_deputy(cast, "stranger", user.username))


# What the world has of ours beside threads and requests: how something of others is made.
FOREIGN: dict[str, Callable[[World, bool], str]] = {
    "policy": _policy,
    "hook": _endpoint,
    "inbound": _inbound,
    "mcp": _mcp_server,
    "breaker": _breaker,
    "erasure": _erasure,
    "incident": _incident,
    "taken": _incident,
    "snoozed": _incident,
    "mail": _mail,
    "subscription": _subscription,
    "view": _view,
    "sign_in": _sign_in,
    "deputy": _deputy,
    "device": _device,
}


def _policy_form() -> dict[str, Any]:
    initial = {name: one.initial for name, one in PolicyForm().fields.items() if one.initial}
    payload = {"name": f"Door {uuid4().hex[:8]}", "condition": "tool == 'mail'", "action": "ask"}
    return {**initial, **payload, "undo_window": "0", "on_expiry": "expire", "number": "1"}


ENDPOINT = {"kind": "webhook", "target": "https://agent.example/in", "digest": "0"}
ENDPOINT |= {"events": "approval.decided"}
NEW = {"password1": "a long pass word", "password2": "a long pass word", "usable_password": "true"}
# Addresses of the admin site that change something: (the row, the form).
ADMIN: dict[str, Callable[[World, bool], Form]] = {
    "auth_user_add": lambda w, f: ("", {"username": f"new-{uuid4().hex[:6]}", **NEW}),
    "auth_user_change": lambda w, f: (str(_user(w, f)), _person(w, f)),
    "auth_user_password_change": lambda w, f: (str(_user(w, f)), NEW),
    "user_sign_out": lambda w, f: (
        str(w.cast.users["stranger" if f else "operator"].pk),
        {},
    ),
    "user_second_factor_remove": lambda w, f: (
        str(w.cast.users["stranger" if f else "operator"].pk),
        {},
    ),
    "checkpoints_membership_add": lambda w, f: ("", {"user": _user(w, f), "role": "auditor"}),
    "checkpoints_membership_delete": lambda w, f: (str(_role(w, f)), {"post": "yes"}),
    "checkpoints_workspace_change": lambda w, f: (
        str(w.cast.elsewhere if f else w.cast.workspace),
        {"name": f"named-{uuid4().hex[:6]}"},
    ),
    "dashboard_token_revoke": lambda w, f: (_token(w, f), {}),
    "approvals_hook_add": lambda w, f: ("", {"name": f"door-{uuid4().hex[:8]}"}),
    "approvals_hook_change": lambda w, f: (_hook(w, f), {"new_secret": "on"}),
    "approvals_hookidentity_add": lambda w, f: (
        "",
        {"hook": _hook(w, f), "identity": "U2", "user": _user(w, f)},
    ),
    "approvals_hookidentity_delete": lambda w, f: (_identity(w, f), {"post": "yes"}),
}
ADMIN |= {
    "approvals_endpoint_add": lambda w, f: ("", {**ENDPOINT, "name": f"door {uuid4().hex[:8]}"}),
    "approvals_endpoint_change": lambda w, f: (
        _endpoint(w, f),
        {**ENDPOINT, "name": f"door {uuid4().hex[:8]}"},
    ),
    "approvals_endpoint_rotate": lambda w, f: (_endpoint(w, f), {}),
    "approvals_endpoint_switch": lambda w, f: (_endpoint(w, f), {}),
    "approvals_endpoint_test": lambda w, f: (_endpoint(w, f), {}),
    "policy_add": lambda w, f: ("", _policy_form()),
    "policy": lambda w, f: (_policy(w, f), _policy_form()),
    "policy_switch": lambda w, f: (_policy(w, f), {"active": "0"}),
    "policy_move": lambda w, f: (_policy(w, f), {"position": "1"}),
    "policy_cap": lambda w, f: (
        "",
        {"scope": "thread", "per": "day", "max_cost": "2.50", "active": "1"},
    ),
}
ADMIN |= {
    "retention": lambda w, f: (
        "",
        {"agent": "nobody", "days": "30", "active": "1", "counted": "30:nobody"},
    ),
}
MCP = {"url": "https://mail.example/mcp"}
SEEN = f"{hash_of(definition_of(listing.TOOL))}:add"
ADMIN |= {
    "mcp_server_add": lambda w, f: ("", {"name": f"door-{uuid4().hex[:8]}", **MCP}),
    "mcp_server_change": lambda w, f: (_mcp_server(w, f), MCP),
    "mcp_server_switch": lambda w, f: (_mcp_server(w, f), {"active": "0"}),
    "mcp_server_tools": lambda w, f: (_mcp_server(w, f), {}),
    "mcp_server_accept": lambda w, f: (_mcp_server(w, f), {"tool": SEEN}),
    "mcp_server_mode": lambda w, f: (_mcp_server(w, f), {"tool": "add", "mode": "ask"}),
    "mcp_server_remove": lambda w, f: (_mcp_server(w, f), {}),
}
ADMIN |= {
    "approvals_subscription_add": lambda w, f: (
        "",
        {"person": "viewer", "endpoint": _mail(w, f), "kinds": "thread.failed"},
    ),
    "approvals_subscription_change": lambda w, f: (
        _subscription(w, f),
        {"endpoint": _mail(w, f), "agent": "research"},
    ),
    "approvals_subscription_delete": lambda w, f: (_subscription(w, f), {"post": "yes"}),
}
NO_ROW = {"policy_cap", "retention"}
# Superusers only: no role of the cast opens it.
ROOT = {"checkpoints_workspace_add"}
# A form that names things in its fields says what is wrong with them in place of 404.
BY_FIELD = {"checkpoints_membership_add", "approvals_hookidentity_add"}
BY_FIELD |= {"approvals_subscription_add"}
# Of rows that are edited: no such form, or nothing behind it but a refusal.
CLOSED = {
    "auth_user_delete",
    "checkpoints_membership_change",
    "checkpoints_workspace_delete",
    "approvals_endpoint_delete",
    "approvals_hook_delete",
    "approvals_hookidentity_change",
}
# Of the site itself: signing out and one's own password, which are everybody's own.
OWN = {"logout", "password_change"}
SITE = {"index", "login", "password_change_done", "jsi18n", "app_list", "view_on_site"}
SITE |= {"autocomplete", "", "policies", "mcp_servers", "mcp_server"}
SITE |= {"record_search", "record_export"}


def has_row(name: str) -> bool:
    """Whether an address of the admin site names a row."""
    return not name.endswith("_add") and name not in NO_ROW


def admin_form(name: str, world: World, foreign: bool) -> Knock:
    """Send a form of the admin site."""
    ident, form = ADMIN[name](world, foreign)
    path = reverse(f"admin:{name}", args=[ident] if has_row(name) else [])
    clients = browsers(world)

    def knock(who: str | None) -> str:
        answer = clients[who].post(path, form)
        if answer.status_code == 200 and "errorlist" in answer.content.decode():
            return "422"  # shown again, with what is wrong with it
        return answered(answer)

    return knock


def admin_forms() -> Iterator[Door]:
    for name in ADMIN:
        things = has_row(name)
        yield Door("admin", name, partial(admin_form, name), names_things=things)


def admin_names() -> set[str]:
    """Every named address of the site."""
    return {one.partition(":")[2] for one, _ in addresses() if one.startswith("admin:")}


def read_only() -> set[str]:
    """The addresses of lists that only look."""
    admin.autodiscover()
    results = set()
    for model, made in admin.site._registry.items():
        stem = f"{model._meta.app_label}_{model._meta.model_name}"
        last = ("changelist", "history")
        if isinstance(made, Records):
            last += ("add", "change", "delete")
        results |= {f"{stem}_{word}" for word in last}
    return results


# --- commands -------------------------------------------------------------------------------------

# Whoever may start these owns the machine: they ask for no role.
HOST = {
    "up": "starts the servers themselves",
    "reset": "deletes the data folder",
    "migrate": "changes the schema, under the role that owns it",
    "verify": "computes again, and notes what came out as the command's",
    "anchor": "reads every workspace's log",
    "encryption new-key": "stores nothing",
    "encryption status": "counts, and shows no secret",
    "encryption rotate": "needs the keys, which are in the environment of whoever starts it",
    "createsuperuser": "makes the first person",
    "changepassword": "lets a person in again",
    "login_link": "lets a person in",
    "workspace create": "makes one, with its first admin",
    "demo": "acts as the demo's own people, and only where they are",
    "token create": "what the user may, as a script",
    "token list": "names no secret",
    "token revoke": "ends one",
    "watch": "reads a folder of the machine; its threads cannot be controlled",
    "agent check": "reads code",
    "sbom": "reads the lock",
    "advisories": "reads the lock, and writes a file of the data folder",
    "agent impact": "reads code",
}
LOOK = {
    *(f"threads {verb}" for verb in ("list", "show", "events", "checkpoints", "activities")),
    *("threads state", "threads diff", "agent list", "agent show", "doctor", "hook list"),
    *("policy list", "policy show", "policy try", "policy preview"),
    *(
        "user list",
        "user sign-ins",
        "workspace list",
        "cap list",
        "endpoint list",
        "mcp list",
        "breaker list",
    ),
    *("record search", "record report"),
    *("erase list", "erase preview", "erase holds", "retention list"),
    *("incident list", "incident show", "subscription list", "view list"),
    *("deputy list", "device list"),
    *("budget list", "overview"),
}


ISSUER = "https://login.example.com"
NEW_FILE = "@a file that is not there yet@"


def _file() -> str:
    return str(Path(tempfile.mkdtemp(prefix="gp-door-")) / "kept.zip")


def _named(world: World, actor: str = "admin") -> str:
    return hooks.create_hook(world.cast.actor(actor), f"door-{uuid4().hex[:8]}")[0].name


def _mapped(world: World) -> str:
    hooking.made(world.cast, name := f"door-{uuid4().hex[:8]}", U1="manager")
    return name


def _capped(world: World) -> list[Any]:
    actions.set_cap(world.cast.actor("admin"), "agent", "total", "9")
    return ["agent", "total"]


def _retained(world: World) -> list[Any]:
    actions.set_retention(world.cast.actor("admin"), "nobody", 30, False, True)
    return ["--agent", "nobody"]


def _budgeted(world: World) -> list[Any]:
    actions.set_budget(world.cast.actor("admin"), "agent", "door", max_cost="9")
    return ["agent", "door"]


def _linked(world: World) -> list[Any]:
    identities.link(world.cast.users["viewer"], ISSUER, uuid4().hex, actor="user:0")
    return ["viewer", "--issuer", ISSUER]


def _drafted() -> str:
    path = Path(tempfile.mkdtemp(prefix="gp-door-")) / "policy.json"
    path.write_text(json.dumps({"name": f"door {uuid4().hex[:8]}", "condition": "tool == 'pay'"}))
    return str(path)


COMMANDS: dict[str, Callable[[World], list[Any]]] = {
    "threads start": lambda w: ["research", "--set", "goal=delays"],
    "threads pause": lambda w: [w.queued],
    "threads resume": lambda w: [w.paused],
    "threads retry": lambda w: [w.failed],
    "threads skip": lambda w: [w.failed, "--node", next_node(w.failed), "--reason", "unneeded"],
    "threads many": lambda w: ["pause", "-q", str(w.queued), "--yes"],
    "threads input": lambda w: [w.inbox, '"and the rain"'],
    "threads cancel": lambda w: [w.queued],
    "threads settle": lambda w: [w.asking[0], "happened", "--reason", "seen"],
    "threads code": lambda w: [w.changed, "pin"],
    "threads edit": lambda w: [w.gate.thread, "--set", "goal=weather", "--reason", "typo"],
    "threads fork": lambda w: [w.ended, "--checkpoint", "1", "--set", "goal=weather"],
    "threads rollback": lambda w: [w.ended, "0", "--reason", "wrong", "--yes"],
    "approve": lambda w: [w.gate.id, "--verdict", "approve"],
    "export": lambda w: [w.ended, "--to", NEW_FILE],
    "import": lambda w: [_exported(w)],
    "hook create": lambda w: [f"door-{uuid4().hex[:8]}"],
    "hook rotate": lambda w: [_named(w)],
    "hook enable": lambda w: [_named(w)],
    "hook disable": lambda w: [_named(w)],
    "hook map": lambda w: [_named(w), "U1", "manager"],
    "hook unmap": lambda w: [_mapped(w), "U1"],
    "user create": lambda w: [f"door-{uuid4().hex[:8]}", "--role", "viewer"],
    "user roles": lambda w: ["viewer", "viewer,operator"],
    "user change": lambda w: ["viewer", "--email", "v@example.com"],
    "workspace second-factor": lambda w: ["operator"],
    "workspace rename": lambda w: [f"door-{uuid4().hex[:8]}"],
    "user disable": lambda w: ["viewer"],
    "user enable": lambda w: ["viewer"],
    "user sign-out": lambda w: ["operator"],
    "user remove-second-factor": lambda w: ["operator"],
    "user link": lambda w: ["viewer", "--subject", uuid4().hex, "--issuer", ISSUER],
    "user unlink": lambda w: _linked(w),
    "record export": lambda w: ["--to", NEW_FILE, "--q", "report"],
    "breaker trip": lambda w: ["--agent", "nobody", "--reason", "prices", "--yes"],
    "breaker release": lambda w: [w.breaker, "--reason", "right"],
    "erase request": lambda w: [w.ended, "--reason", "consent", "--yes"],
    "erase approve": lambda w: [w.erasure, "--yes"],
    "erase refuse": lambda w: [w.erasure, "--reason", "needed"],
    "erase hold": lambda w: [w.ended, "--reason", "case 18"],
    "erase lift": lambda w: [w.on_hold, "--reason", "closed"],
    "retention set": lambda w: ["90", "--agent", "nobody", "--yes"],
    "retention off": lambda w: _retained(w),
    "incident take": lambda w: [w.incident],
    "incident give-back": lambda w: [w.taken],
    "incident snooze": lambda w: [w.incident, "--for", "4h"],
    "incident wake": lambda w: [w.snoozed],
    "incident close": lambda w: [w.incident, "--reason", "known"],
    "subscription create": lambda w: ["--endpoint", w.mail, "--kind", "thread.failed"],
    "subscription change": lambda w: [w.subscription, "--agent", "research"],
    "subscription remove": lambda w: [w.subscription],
    "subscription quiet": lambda w: ["--hours", "22:00-07:00"],
    "view save": lambda w: [f"door {uuid4().hex[:8]}", "--address", "status=failed"],
    "view change": lambda w: [w.view, "--name", "Failed"],
    "view remove": lambda w: [w.view],
    "deputy name": lambda w: ["second_manager", "--until", "2030-01-01", "--from", "2029-12-01"],
    "deputy remove": lambda w: [w.deputy],
    "device remove": lambda w: [w.device],
    "deputy hand-over": lambda w: [w.gate.id, "second_manager"],
    "budget set": lambda w: ["workspace", "--cost", "2.50"],
    "budget off": lambda w: _budgeted(w),
    "cap set": lambda w: ["thread", "day", "2.50"],
    "cap off": lambda w: _capped(w),
    "endpoint create": lambda w: ["email", f"door-{uuid4().hex[:8]}"],
    "endpoint change": lambda w: [w.hook, "--event", "approval.decided"],
    "endpoint rotate": lambda w: [w.hook],
    "endpoint enable": lambda w: [w.hook],
    "endpoint disable": lambda w: [w.hook],
    "endpoint test": lambda w: [w.hook],
    "mcp add": lambda w: [f"door-{uuid4().hex[:8]}", "--url", MCP["url"]],
    "mcp change": lambda w: ["notes", "--no-active"],
    "mcp remove": lambda w: ["notes"],
    "mcp tools": lambda w: ["notes"],
    "mcp accept": lambda w: ["notes"],
    "mcp mode": lambda w: ["notes", "add", "ask"],
    "policy create": lambda w: [_drafted()],
    "policy change": lambda w: [w.policy, "--switch", "off"],
}
NO_THING = {"threads start", "import", "hook create", "user create", "cap set", "cap off"}
NO_THING |= {"endpoint create", "policy create", "breaker trip", "record export"}
NO_THING |= {"retention set", "retention off"}
NO_THING |= {"subscription create", "subscription quiet", "view save", "workspace rename"}
NO_THING |= {"deputy name", "workspace second-factor"}
NO_THING |= {"budget set", "budget off", "threads many"}
# Named by a name that each workspace may have once.
NO_THING |= {"mcp add", "mcp change", "mcp remove", "mcp tools", "mcp accept", "mcp mode"}
# Enabling what is enabled changes nothing, and what is here is not brought in again.
IDLE = {"hook enable", "import", "user enable", "endpoint enable"}
# A trial only answers what would match; one policy alone has one place.
IDLE |= {"policies_try", "external_check", "policy_move"}
# The server still lists what it listed.
IDLE |= {"mcp_servers_tools", "mcp_server_tools", "mcp tools"}


# Things of the operator: everybody may have such a one; who comes in by the door to this one.
THE_OPERATORS = dict.fromkeys(
    (
        *("subscription", "subscription_remove", "subscriptions_change", "subscriptions_remove"),
        *("subscription change", "subscription remove"),
        *("view", "view_remove", "views_change", "views_remove", "view change", "view remove"),
    ),
    ("operator", "admin"),
)
THE_OPERATORS |= {"second_factor_add": ("manager",), "second_factor_remove": ("operator",)}
THE_OPERATORS |= {"passkey_remove": ("operator",)}
THE_OPERATORS |= dict.fromkeys(("sign_in_end", "sign_ins_end"), ("operator",))
# An admin names deputies for reviewers only, and is none.
THE_OPERATORS |= dict.fromkeys(("device_remove", "devices_remove", "device remove"), ("operator",))
THE_OPERATORS |= dict.fromkeys(("deputies", "deputies_name", "deputy name"), ("manager",))
THE_OPERATORS |= dict.fromkeys(
    ("incident_give_back", "incidents_give_back", "incident give-back"), ("operator",)
)


def _exported(world: World) -> str:
    path = _file()
    capsule = actions.export(world.cast.actor("operator"), world.ended)
    Path(path).write_bytes(b"".join(capsule.chunks()))
    return path


def command(name: str, world: World, foreign: bool) -> Knock:
    """Call a command as a person."""
    words = [str(word) for word in COMMANDS[name](world)]
    if foreign:
        words = [swapped(world, word) for word in words]
        if name.startswith("hook "):
            words[0] = _named(world, "stranger")
        if name.startswith("user "):
            words[0] = "stranger"

    def knock(who: str | None) -> str:
        err = io.StringIO()
        try:
            values = [_file() if word == NEW_FILE else word for word in words]
            call_command(*name.split(), *values, "--as", who, stdout=io.StringIO(), stderr=err)
        except SystemExit as ended:
            text = err.getvalue()
            if ended.code == 3:
                return MISSING
            denied = "Needs the role" in text or "not a member" in text
            return FORBIDDEN if ended.code == 1 and denied else f"exit {ended.code}: {text}"
        return "in"

    return knock


def commands() -> Iterator[Door]:
    for name in COMMANDS:
        yield Door(
            "command",
            name,
            partial(command, name),
            names_things=name not in NO_THING,
            nobody=False,
        )


def verbs() -> set[str]:
    """Every verb of every command of ours."""
    results = set()
    for name, app in get_commands().items():
        if app in OURS:
            known = getattr(load_command_class(str(app), name), "verbs", ())
            results |= {f"{name} {verb.name}" for verb in known} or {name}
    return results


# --- all of them ----------------------------------------------------------------------------------


def every() -> list[Door]:
    """All doors that change something."""
    hooked = Door("hook", "hooks_decide", hook)
    by_people = [*pages(), *calls(), *token_calls(), *tools()]
    return [*by_people, *scim_doors(), hooked, *admin_forms(), *commands()]


def addresses() -> Iterator[tuple[str, frozenset[str]]]:
    """(namespace:name, names of its parameters) of every address."""

    def walk(
        patterns: Any, space: str, values: frozenset[str]
    ) -> Iterator[tuple[str, frozenset[str]]]:
        for one in patterns:
            named = values | frozenset(one.pattern.regex.groupindex)
            if isinstance(one, URLResolver):
                inner = f"{space}{one.namespace}:" if one.namespace else space
                yield from walk(one.url_patterns, inner, named)
            else:
                yield f"{space}{one.name or ''}", named

    yield from walk(get_resolver().url_patterns, "", frozenset())


# --- who was asked --------------------------------------------------------------------------------


@dataclass
class Seen:
    """What the choke point did meanwhile: its functions, and the rights they asked for."""

    functions: set[str] = field(default_factory=set)
    rights: set[str] = field(default_factory=set)


def watched(act: Callable[[], str]) -> tuple[str, Seen]:
    """Results, and what was seen at the choke point meanwhile."""
    seen = Seen()
    asks = permissions.require.__code__

    def look(frame: FrameType) -> bool:
        code = frame.f_code
        if code is asks:
            if frame.f_back and frame.f_back.f_globals.get("__name__") in CHOKE:
                seen.rights.add(frame.f_locals["action"])
            return True
        if frame.f_globals.get("__name__") not in CHOKE or not code.co_argcount:
            return False
        first = frame.f_locals.get(code.co_varnames[0])
        if isinstance(first, Actor | administration.Administrator):
            seen.functions.add(code.co_qualname)
        return True

    with noticed(look):
        answer = act()
    return answer, seen


def may_pass(rights: set[str], who: str) -> bool:
    """Whether the roles of somebody of the default workspace hold all these rights."""
    roles = set(CAST[who][1]) if CAST[who][0] == "default" else set()
    return all(permissions.RIGHTS[right] & roles for right in rights)


def superuser() -> Any:
    """Somebody to whom nothing is closed, for looking round."""
    row = get_user_model().objects.filter(username="root").first()
    return row or get_user_model().objects.create_superuser("root", password="root")


def everybody(world: World) -> Any:
    """A browser of somebody with every role and the superuser's flag."""
    user = superuser()
    for role in permissions.ROLES:
        store.grant(world.cast.workspace, user.pk, role, actor="user:0")
    client = Client()
    client.force_login(user, "dashboard.identity.backends.Passwords")
    return client


def decided(world: World) -> tuple[Any, ...]:
    """The requests of the world as they are."""
    return tuple(
        requests.approval(row.id, workspace=row.workspace)
        for row in (world.gate, world.other_gate, world.foreign_gate)
    )
