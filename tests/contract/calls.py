"""Every call of the API with one good example each; whoever adds a call adds its example here.

The calls themselves come from the OpenAPI document, so that none is forgotten.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID, uuid4

from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from drf_spectacular.generators import SchemaGenerator
from uuid_utils.compat import uuid7

from approvals.incidents.subscriptions import Choice
from approvals.notify import endpoints
from approvals.notify.endpoints import Wanted
from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms
from checkpoints import queries, store
from checkpoints.states import EventKind
from dashboard import actions
from dashboard.actions import external, hooks
from dashboard.identity import tokens
from dashboard.identity.second_factor import codes, proposals, records
from dashboard.mcp.registry import changes as mcp_servers
from dashboard.mcp.registry.definitions import definition_of, hash_of
from dashboard.saved_views import changes as views
from tests.cast import Cast
from tests.dashboard import scene
from tests.dashboard.authenticator import Authenticator
from tests.dashboard.mcp import listing
from workers.external.announcement import Announcement
from workers.external.committed import Report

ROLES = ("operator", "manager", "auditor")


@dataclass(frozen=True)
class Operation:
    """One call as the document describes it."""

    id: str
    method: str
    path: str
    spec: dict[str, Any]

    @property
    def body_type(self) -> str:
        """The media type of its body, empty where it takes none."""
        return next(iter(self.spec.get("requestBody", {}).get("content", {})), "")

    @property
    def query(self) -> list[str]:
        return [p["name"] for p in self.spec.get("parameters", []) if p["in"] == "query"]


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document."""
    made = SchemaGenerator().get_schema(request=None, public=True)
    return json.loads(json.dumps(made))  # plain types


# What a service signs for one delivery; no person calls it. doors.hook and test_hooks do.
SIGNED = [{"webhookSignature": []}]


@cache
def operations() -> dict[str, Operation]:
    """All calls that people make, by their operationId."""
    results = [
        Operation(spec["operationId"], method, path, spec)
        for path, item in document()["paths"].items()
        for method, spec in item.items()
        if spec["security"] != SIGNED
    ]
    assert len({one.id for one in results}) == len(results)
    return {one.id: one for one in results}


@dataclass(frozen=True)
class World:
    """Threads and requests in all conditions that the calls need, and some elsewhere."""

    cast: Cast
    agent: UUID
    queued: UUID
    paused: UUID
    inbox: UUID  # of an agent that takes messages
    failed: UUID
    changed: UUID  # its agent has other code by now
    ended: UUID
    first: UUID  # the first checkpoint of `ended`
    gate: ApprovalRow
    foreign: UUID
    foreign_gate: ApprovalRow
    other_gate: ApprovalRow
    policy: UUID
    foreign_policy: UUID
    held: ApprovalRow  # decided by the manager, who can still take it back
    asking: tuple[UUID, UUID]  # a thread in attention, the effect that it asks about
    hook: UUID  # an endpoint for a webhook
    inbound: UUID  # an inbound hook, whose word U1 stands for the manager
    mcp: UUID  # an MCP server whose tool `add` nobody has accepted
    elsewhere: UUID  # of an agent that works elsewhere, queued
    reporting: tuple[UUID, UUID]  # another one of it, and the lease of the operator's agent
    undoing: tuple[UUID, UUID, UUID]  # one that is rolled back, the lease, the effect to undo
    saved: str  # the name of a state that the operator's agent has saved
    breaker: UUID  # an open one, of an agent that has no threads
    erasure: UUID  # of a thread of its own; waits for a second person
    on_hold: UUID  # a finished thread with a legal hold
    incident: UUID  # an open one that nobody has taken
    taken: UUID  # another one, which the operator has taken
    snoozed: UUID  # another one, which the operator has snoozed
    mail: UUID  # an endpoint that writes to people
    subscription: UUID  # of the operator, by that endpoint
    view: UUID  # of the operator, shared
    sign_in: UUID  # another browser of the operator
    device: UUID  # of the operator
    deputy: UUID  # the second manager, of the manager, next year
    factor: str  # the secret of the operator's authenticator app
    passkey: UUID  # of the operator


def make_world(cast: Cast) -> World:
    """The threads of the examples; what they change is theirs alone."""
    agent = scene.make_agent()
    operator = cast.actor("operator")
    paused = scene.start(cast.workspace, agent)
    actions.pause(operator, paused)
    failed = scene.lease(scene.start(cast.workspace, agent))
    scene.step(failed, report="half", leave_by=EventKind.THREAD_FAILED)
    ended = scene.lease(scene.start(cast.workspace, agent))
    scene.step(ended, report="draft")
    scene.effect(ended)
    scene.step(ended, report="two", leave_by=EventKind.THREAD_SUCCEEDED)
    return World(
        cast=cast,
        agent=agent,
        queued=scene.start(cast.workspace, agent),
        paused=paused,
        inbox=scene.start(cast.workspace, _reader()),
        failed=failed.thread,
        changed=_changed(cast, agent),
        ended=ended.thread,
        first=queries.checkpoint_by_number(ended.thread, 0).id,
        gate=scene.waiting(cast.workspace, agent),
        foreign=scene.start(cast.elsewhere, agent),
        foreign_gate=scene.waiting(cast.elsewhere, agent),
        other_gate=scene.waiting(cast.workspace, agent),
        policy=policies.make(
            cast.workspace, Draft("Mails", "tool == 'mail'"), actor="user:0"
        ).policy,
        foreign_policy=policies.make(
            cast.elsewhere, Draft("Mails", "tool == 'mail'"), actor="user:0"
        ).policy,
        held=_held(cast, agent),
        asking=scene.asking(cast.workspace, agent),
        hook=_hook(cast),
        inbound=make_inbound(cast, "admin"),
        mcp=make_mcp_server(cast.workspace),
        elsewhere=_elsewhere(cast),
        reporting=_reporting(cast),
        undoing=_undoing(cast),
        saved=_saved(cast),
        breaker=make_breaker(cast.workspace),
        erasure=make_erasure(cast.workspace),
        on_hold=_on_hold(cast, agent),
        incident=make_incident(cast.workspace),
        taken=_taken(cast),
        snoozed=_snoozed(cast),
        mail=(mail := make_mail(cast.workspace)),
        subscription=make_subscription(cast, "operator", mail),
        view=make_view(cast, "operator"),
        sign_in=make_sign_in(cast, "operator"),
        device=make_device(cast, "operator"),
        deputy=make_deputy(cast, "manager", "second_manager"),
        factor=make_factor(cast, "operator"),
        passkey=Authenticator().added(cast.users["operator"]).id,
    )


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


def _on_hold(cast: Cast, agent: UUID) -> UUID:
    thread = scene.start(cast.workspace, agent)
    store.cancel(thread, actor="user:0")
    store.set_hold(thread, workspace=cast.workspace, reason="case 17", actor="user:0")
    return thread


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


def _snoozed(cast: Cast) -> UUID:
    """An incident that the operator has snoozed."""
    made, span = make_incident(cast.workspace), timedelta(hours=4)
    return actions.snooze_incident(cast.actor("operator"), made, span).id


def _taken(cast: Cast) -> UUID:
    """An incident that the operator has taken."""
    return actions.take_incident(cast.actor("operator"), make_incident(cast.workspace)).id


def make_mail(workspace: UUID) -> UUID:
    """An endpoint that writes to people."""
    wanted = Wanted(name=f"people {uuid4().hex[:8]}")
    return endpoints.make(workspace, "email", wanted, actor="user:0")[0]


def make_subscription(cast: Cast, name: str, mail: UUID) -> UUID:
    """A subscription of a person by such an endpoint."""
    choice = Choice(endpoint=mail, kinds=["thread.failed"])
    return actions.make_subscription(cast.actor(name), choice).id


def make_view(cast: Cast, name: str) -> UUID:
    """A shared view of a person."""
    choice = views.Choice(f"Failed {uuid4().hex[:8]}", "status=failed", shared=True)
    return actions.save_view(cast.actor(name), choice).id


# The keys of a browser: those of the example in RFC 8291.
DEVICE = {
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIA"
    "iw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}


def make_device(cast: Cast, name: str) -> UUID:
    """A device of somebody."""
    address = f"https://push.example/{uuid4().hex}"
    return actions.add_device(cast.actor(name), "phone", address=address, **DEVICE).id


def make_deputy(cast: Cast, person: str, deputy: str) -> UUID:
    """A deputy of somebody, for a week that is far."""
    begins = datetime.now(UTC) + timedelta(days=300)
    ends = begins + timedelta(days=7)
    return actions.name_deputy(cast.actor(person), deputy, begins, ends).id


def make_inbound(cast: Cast, name: str) -> UUID:
    """An inbound hook in somebody's workspace; its word U1 stands for a member of it."""
    who = cast.actor(name)
    hook = hooks.create_hook(who, f"inbound-{uuid4().hex[:8]}")[0].id
    member = cast.users["manager"].pk if who.workspace == cast.workspace else who.user_id
    hooks.map_identity(who, hook, "U1", member)
    return hook


def _saved(cast: Cast) -> str:
    """A state under a name."""
    external.save_state(cast.actor("operator"), "conversation-7", {"turn": 1})
    return "conversation-7"


def _elsewhere(cast: Cast) -> UUID:
    """A thread of an agent that works elsewhere."""
    tools = {"charge": {"undo": "refund", "idempotent": True}}
    made = Announcement(framework="python", tools=tools)
    return actions.start_or_continue(
        cast.actor("operator"), agent="elsewhere", input={"n": 1}, external=made
    )[0]


def _reporting(cast: Cast) -> tuple[UUID, UUID]:
    """One that such an agent has taken, with an effect that has begun."""
    operator, thread = cast.actor("operator"), _elsewhere(cast)
    token = external.take(operator, thread, "host-1", 60).work.token
    _begin(operator, thread, token, "charge#0")
    return thread, token


def _begin(actor: Any, thread: UUID, token: UUID, key: str) -> UUID:
    at = {"node": "work", "index": 0, "key": key}
    how: dict[str, Any] = {"step": None, "kind": "effect", "tool": "charge", "gate": None}
    answer = external.begin(actor, thread, token, at, args={"cents": 1}, **how)
    assert answer.activity is not None
    return answer.activity.id


def _undoing(cast: Cast) -> tuple[UUID, UUID, UUID]:
    """One that somebody rolled back; its agent has taken it to undo what it did."""
    operator, thread = cast.actor("operator"), _elsewhere(cast)
    token = external.take(operator, thread, "host-1", 60).work.token
    effect = _begin(operator, thread, token, "charge#0")
    at = {"node": "work", "index": 0, "key": "charge#0"}
    how: dict[str, Any] = {"error": "", "usage": None, "kind": "effect", "tool": "charge"}
    how |= {"args": None, "step": None, "state": "done", "result": "ch_1"}
    external.settle(operator, thread, token, at, **how)
    report = Report(None, None, ["work"], ["work"], {"set": {"n": 2}})
    external.commit(operator, thread, token, report)
    external.release(operator, thread, token, "succeeded", "", None)
    first = queries.checkpoint_by_number(thread, 0).id
    actions.roll_back(operator, thread, first, "wrong")
    return thread, external.take(operator, thread, "host-1", 60).work.token, effect


def _held(cast: Cast, agent: UUID) -> ApprovalRow:
    """A request whose decision counts in an hour."""
    row = scene.waiting(cast.workspace, agent, terms=Terms(undo_window=3600))
    return actions.decide(cast.actor("manager"), row.id, "approve", row.standing_hash)


def _hook(cast: Cast) -> UUID:
    """A place that is told news; nothing is sent, since no worker works."""
    made = Wanted(name="agent elsewhere", target="https://agent.example/in")
    return actions.make_endpoint(cast.actor("admin"), "webhook", made)[0].id


def make_mcp_server(workspace: UUID, name: str = "notes") -> UUID:
    """An MCP server that lists one tool."""
    wanted = mcp_servers.Wanted(url=listing.address())
    row = mcp_servers.add(workspace, name, wanted, actor="user:0")
    mcp_servers.note_listed(row, [listing.TOOL], actor="user:0")
    return row.id


def _changed(cast: Cast, agent: UUID) -> UUID:
    """A thread that met another version of its agent."""
    work = scene.lease(scene.start(cast.workspace, agent))
    query = {"kind": "code", "version": str(agent), "choices": ["pin", "accept", "fork"]}
    store.leave(work, EventKind.THREAD_PARKED, reason="The code changed", waiting_on=query)
    return work.thread


def _reader() -> UUID:
    """An agent with an inbox."""
    return store.announce_version(
        agent="reader",
        version=1,
        fingerprint="f" * 64,
        label="Reader",
        description="Reads what is sent",
        schema_version=1,
        schema=scene.SCHEMA,
        channels=scene.CHANNELS,
        graph={**scene.GRAPH, "inbox": "findings"},
        tools={},
        queue="gatepost",
    )


@dataclass(frozen=True)
class Call:
    """One request: what fills the path, the query, the body; who may make it; what it answers."""

    params: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: Any = None
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    who: tuple[str, ...] = ROLES
    status: int = 200
    reach: tuple[str, ...] = ()  # those of `who` that the example exists for; none: all

    def but(self, **more: Any) -> Call:
        return replace(self, **more)


def next_node(thread: UUID) -> str:
    """The first node that works next."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT next_nodes ->> 0 FROM gp_thread WHERE id = %s", (thread,))
        (name,) = cursor.fetchone() or ("",)
    return str(name)


def version_of(thread: UUID) -> int:
    """The version that a page posts."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT version FROM gp_thread WHERE id = %s", (thread,))
        (version,) = cursor.fetchone() or (0,)
    return int(version)


def _thread(thread: UUID, **more: Any) -> Call:
    return Call({"thread_id": str(thread)}, **more)


def _reported(w: World, **more: Any) -> Call:
    thread, token = w.reporting
    return _thread(thread, headers={"Gatepost-Lease": str(token)}, who=OPERATOR, **more)


def _endpoint(endpoint: UUID, **more: Any) -> Call:
    return Call({"endpoint_id": str(endpoint)}, **more)


def _inbound(hook: UUID, **more: Any) -> Call:
    return Call({"hook_id": str(hook)}, **more)


def _mcp(server: UUID, **more: Any) -> Call:
    return Call({"server_id": str(server)}, **more)


OPERATOR, EITHER = ("operator",), ("operator", "manager")
ADMIN, LOOKS = ("admin",), ("auditor",)
# The operator has a second factor.
WITHOUT_FACTOR = ("manager", "operator", "auditor")
# Only somebody who is there can do it.
NO_TOKEN = ("no token",)
EXAMPLES: dict[str, Callable[[World], Call]] = {
    "agents_list": lambda w: Call(),
    "agents_retrieve": lambda w: Call({"name": "research"}),
    "approvals_list": lambda w: Call(query={"status": "all", "limit": "10"}),
    "approvals_retrieve": lambda w: Call({"approval_id": str(w.gate.id)}),
    "approvals_decide": lambda w: Call(
        {"approval_id": str(w.gate.id)},
        body={"verdict": "approve", "proposal_hash": w.gate.proposal_hash, "comment": "fine"},
        who=("manager",),
    ),
    "approvals_report": lambda w: Call({"approval_id": str(w.gate.id)}),
    "records_list": lambda w: Call(query={"kind": "approval", "risk": "medium", "limit": "10"}),
    "records_export": lambda w: Call(
        query={"q": "report", "form": "csv", "limit": "100"}, who=("operator", "auditor")
    ),
    "breakers_list": lambda w: Call(),
    "breakers_retrieve": lambda w: Call({"breaker_id": str(w.breaker)}),
    "breakers_trip": lambda w: Call(
        body={"agent": "nobody", "labels": {"team": "eu"}, "reason": "prices are wrong"},
        who=("operator", "admin"),
        status=201,
    ),
    "breakers_release": lambda w: Call(
        {"breaker_id": str(w.breaker)},
        body={"reason": "prices are right"},
        who=("operator", "admin"),
    ),
    "erasures_list": lambda w: Call(),
    "erasures_retrieve": lambda w: Call({"erasure_id": str(w.erasure)}),
    "erasures_decide": lambda w: Call(
        {"erasure_id": str(w.erasure)}, body={"verdict": "approve"}, who=ADMIN
    ),
    "threads_erase": lambda w: Call(
        {"thread_id": str(w.ended)},
        body={"reason": "consent withdrawn", "scope": "thread"},
        who=("operator", "admin"),
        status=201,
    ),
    "holds_list": lambda w: Call(),
    "retention_list": lambda w: Call(),
    "retention_set": lambda w: Call(body={"agent": "nobody", "days": 90}, who=ADMIN),
    "threads_hold": lambda w: Call(
        {"thread_id": str(w.ended)}, body={"reason": "case 18"}, who=ADMIN, status=201
    ),
    "threads_lift_hold": lambda w: Call(
        {"thread_id": str(w.on_hold)}, body={"reason": "case closed"}, who=ADMIN
    ),
    "incidents_list": lambda w: Call(
        query={"state": "open", "kind": "thread.failed", "limit": "5"}
    ),
    "incidents_retrieve": lambda w: Call({"incident_id": str(w.incident)}),
    "incidents_take": lambda w: Call(
        {"incident_id": str(w.incident)}, body={}, who=("operator", "manager", "admin")
    ),
    "incidents_give_back": lambda w: Call(
        {"incident_id": str(w.taken)},
        body={},
        who=("operator", "manager", "admin"),
        reach=("operator",),
    ),
    "incidents_snooze": lambda w: Call(
        {"incident_id": str(w.incident)},
        body={"until": (datetime.now(UTC) + timedelta(hours=4)).isoformat()},
        who=("operator", "manager", "admin"),
    ),
    "incidents_wake": lambda w: Call(
        {"incident_id": str(w.snoozed)}, body={}, who=("operator", "manager", "admin")
    ),
    "incidents_close": lambda w: Call(
        {"incident_id": str(w.incident)},
        body={"reason": "known since Monday"},
        who=("operator", "manager", "admin"),
    ),
    "subscriptions_list": lambda w: Call(),
    "subscriptions_retrieve": lambda w: Call(
        {"subscription_id": str(w.subscription)}, reach=("operator", "auditor")
    ),
    "subscriptions_make": lambda w: Call(
        body={
            "endpoint": str(w.mail),
            "kinds": ["thread.failed", "thread.stuck"],
            "agent": "research",
            "label": "team=eu",
            "urgent": True,
        },
        status=201,
    ),
    "subscriptions_change": lambda w: Call(
        {"subscription_id": str(w.subscription)}, body={"agent": "research"}, reach=("operator",)
    ),
    "subscriptions_remove": lambda w: Call(
        {"subscription_id": str(w.subscription)}, body={}, reach=("operator",)
    ),
    "quiet_hours_retrieve": lambda w: Call(),
    "quiet_hours_set": lambda w: Call(
        body={"hours": {"begins": "22:00", "ends": "07:00", "zone": "Europe/Berlin"}}
    ),
    "views_list": lambda w: Call(),
    "views_retrieve": lambda w: Call({"view_id": str(w.view)}),
    "views_save": lambda w: Call(
        body={
            "name": "My failed payments",
            "address": "status=failed&q=agent:payments&columns=cost,idle",
            "shared": True,
        },
        status=201,
    ),
    "views_change": lambda w: Call(
        {"view_id": str(w.view)}, body={"name": "Failed"}, reach=("operator",)
    ),
    "views_remove": lambda w: Call({"view_id": str(w.view)}, body={}, reach=("operator",)),
    "sign_ins_list": lambda w: Call(),
    "sign_ins_end": lambda w: Call({"sign_in_id": str(w.sign_in)}, body={}),
    "sign_ins_end_others": lambda w: Call(body={}),
    "sign_ins_confirm": lambda w: Call(body={"password": "operator-password"}, reach=NO_TOKEN),
    "second_factor_retrieve": lambda w: Call(),
    "second_factor_propose": lambda w: Call(body={}, who=WITHOUT_FACTOR, reach=NO_TOKEN),
    "second_factor_add": lambda w: Call(
        body=adding(w.cast, "manager"), status=201, who=WITHOUT_FACTOR, reach=NO_TOKEN
    ),
    "second_factor_remove": lambda w: Call(body={"code": code_of(w.factor)}, reach=NO_TOKEN),
    "second_factor_confirm": lambda w: Call(body={"code": code_of(w.factor)}, reach=NO_TOKEN),
    "passkeys_list": lambda w: Call(),
    "passkeys_remove": lambda w: Call(
        {"passkey_id": str(w.passkey)}, body={"password": "operator-password"}, reach=NO_TOKEN
    ),
    "users_second_factor_remove": lambda w: Call(
        {"user_id": str(w.cast.users["operator"].pk)}, body={}, who=ADMIN
    ),
    "workspace_retrieve": lambda w: Call(),
    "workspace_second_factor_retrieve": lambda w: Call(who=LOOKS),
    "workspace_second_factor_require": lambda w: Call(body={"roles": ["operator"]}, who=ADMIN),
    "workspace_rename": lambda w: Call(body={"name": "Payments"}, who=ADMIN),
    "tokens_list": lambda w: Call(who=LOOKS),
    "tokens_revoke": lambda w: Call({"prefix": make_token(w.cast, "operator")}, body={}, who=ADMIN),
    "users_password": lambda w: Call(
        {"user_id": str(w.cast.users["viewer"].pk)},
        body={"password": "a long pass word"},
        who=ADMIN,
    ),
    "users_sign_out": lambda w: Call(
        {"user_id": str(w.cast.users["operator"].pk)}, body={}, who=ADMIN
    ),
    "devices_list": lambda w: Call(),
    "devices_add": lambda w: Call(
        body={"name": "phone", "address": "https://push.example/new", **DEVICE}, status=201
    ),
    "devices_remove": lambda w: Call({"device_id": str(w.device)}, body={}, reach=("operator",)),
    "deputies_list": lambda w: Call(),
    "deputies_name": lambda w: Call(
        body={
            "deputy": "second_manager",
            "ends": (datetime.now(UTC) + timedelta(days=4)).isoformat(),
            "reason": "holiday",
        },
        status=201,
        who=("manager", "admin"),
        reach=("manager",),
    ),
    "deputies_remove": lambda w: Call(
        {"deputy_id": str(w.deputy)}, body={}, who=("manager", "admin")
    ),
    "approvals_hand_over": lambda w: Call(
        {"approval_id": str(w.gate.id)},
        body={"to": "second_manager", "reason": "you know them"},
        status=201,
        who=("manager",),
    ),
    "budgets_list": lambda w: Call(),
    "budgets_set": lambda w: Call(
        body={"scope": "team", "name": "growth", "max_cost": "250", "at_full": "stop"}, who=ADMIN
    ),
    "caps_list": lambda w: Call(),
    "caps_set": lambda w: Call(
        body={"scope": "thread", "per": "day", "max_cost": "2.50"}, who=ADMIN
    ),
    "overview_retrieve": lambda w: Call(query={"period": "24h", "agent": "research"}),
    "policies_list": lambda w: Call(),
    "policies_retrieve": lambda w: Call({"policy_id": str(w.policy)}),
    "policies_make": lambda w: Call(
        body={
            "name": "Large sums",
            "condition": "amount(args.total) > 1000",
            "terms": {"stages": [{"people": ["manager"], "count": 1}], "four_eyes": True},
            "deadline": 3600.0,
            "risk": "high",
        },
        who=ADMIN,
        status=201,
    ),
    "policies_change": lambda w: Call(
        {"policy_id": str(w.policy)},
        body={
            "draft": {"name": "Mails", "condition": "tool == 'mail' && agent == 'a'"},
            "number": 1,
            "active": False,
        },
        who=ADMIN,
    ),
    "policies_try": lambda w: Call(body={"condition": "tool == 'publish'"}, who=ADMIN),
    "approvals_take_back": lambda w: Call(
        {"approval_id": str(w.held.id)}, body={}, who=("manager",)
    ),
    "approvals_decide_many": lambda w: Call(
        body=[
            {
                "id": str(w.other_gate.id),
                "verdict": "reject",
                "proposal_hash": w.other_gate.standing_hash,
                "comment": "too dear",
            },
            {"id": str(w.gate.id), "verdict": "approve", "proposal_hash": "0" * 64},
        ],
        who=("manager",),
    ),
    "artifacts_upload": lambda w: Call(files={"file": ("a.csv", b"1,2")}, who=OPERATOR, status=201),
    "endpoints_list": lambda w: Call(who=LOOKS),
    "endpoints_make": lambda w: Call(
        body={"kind": "email", "name": "reviewers", "digest": 15}, who=ADMIN, status=201
    ),
    "endpoints_retrieve": lambda w: _endpoint(w.hook, who=LOOKS),
    "endpoints_change": lambda w: _endpoint(
        w.hook, body={"name": "agent", "events": ["approval.decided"]}, who=ADMIN
    ),
    "endpoints_rotate": lambda w: _endpoint(w.hook, body={"overlap": 3600}, who=ADMIN),
    "endpoints_switch": lambda w: _endpoint(w.hook, body={"active": False}, who=ADMIN),
    "endpoints_test": lambda w: _endpoint(w.hook, body={}, who=ADMIN, status=202),
    "hooks_list": lambda w: Call(who=LOOKS),
    "hooks_make": lambda w: Call(body={"name": "pager"}, who=ADMIN, status=201),
    "hooks_retrieve": lambda w: _inbound(w.inbound, who=LOOKS),
    "hooks_rotate": lambda w: _inbound(w.inbound, body={"keep": 3600}, who=ADMIN),
    "hooks_switch": lambda w: _inbound(w.inbound, body={"active": False}, who=ADMIN),
    "hooks_map": lambda w: _inbound(
        w.inbound, body={"identity": "U024BE7LH", "user": "operator"}, who=ADMIN
    ),
    "hooks_unmap": lambda w: _inbound(w.inbound, body={"identity": "U1"}, who=ADMIN),
    "mcp_servers_list": lambda w: Call(),
    "mcp_servers_add": lambda w: Call(
        body={"name": "mail", "url": "https://mail.example/mcp"}, who=ADMIN, status=201
    ),
    "mcp_servers_retrieve": lambda w: _mcp(w.mcp),
    "mcp_servers_change": lambda w: _mcp(
        w.mcp, body={"credential": "GATEPOST_SECRET_MAIL", "active": False}, who=ADMIN
    ),
    "mcp_servers_remove": lambda w: _mcp(w.mcp, body={}, who=ADMIN),
    "mcp_servers_tools": lambda w: _mcp(w.mcp, body={}, who=ADMIN),
    "mcp_servers_accept": lambda w: _mcp(
        w.mcp, body={"tools": {"add": hash_of(definition_of(listing.TOOL))}}, who=ADMIN
    ),
    "mcp_servers_mode": lambda w: _mcp(w.mcp, body={"tool": "add", "mode": "ask"}, who=ADMIN),
    "threads_list": lambda w: Call(query={"status": "queued,waiting", "limit": "2"}),
    "threads_start": lambda w: Call(
        body={"agent": "research", "input": {"goal": "delays"}, "labels": {"team": "ops"}},
        who=OPERATOR,
        status=201,
    ),
    "threads_counts_retrieve": lambda w: Call(),
    "threads_stuck": lambda w: Call(query={"agent": "research", "limit": "2"}),
    "threads_retrieve": lambda w: _thread(w.gate.thread),
    "threads_state_retrieve": lambda w: _thread(w.ended, query={"checkpoint": str(w.first)}),
    "threads_anatomy_retrieve": lambda w: _thread(w.ended, query={"checkpoint": str(w.first)}),
    "threads_checkpoints_retrieve": lambda w: _thread(w.ended, query={"limit": "2"}),
    "threads_events_retrieve": lambda w: _thread(w.ended, query={"after": "1", "limit": "3"}),
    "threads_activities_retrieve": lambda w: _thread(w.ended),
    "threads_diff_retrieve": lambda w: _thread(w.ended, query={"from": str(w.first)}),
    "threads_pause": lambda w: _thread(w.queued, body={"before_node": "publish"}, who=OPERATOR),
    "users_list": lambda w: Call(who=LOOKS),
    "users_make": lambda w: Call(
        body={"username": "ada", "roles": ["operator"]}, who=ADMIN, status=201
    ),
    "users_change": lambda w: Call(
        {"user_id": str(w.cast.users["operator"].pk)},
        body={"roles": ["operator", "viewer"]},
        who=ADMIN,
    ),
    "threads_resume": lambda w: _thread(w.paused, body={}, who=OPERATOR),
    "threads_retry": lambda w: _thread(w.failed, body={}, who=OPERATOR),
    "threads_skip": lambda w: _thread(
        w.failed, body={"node": next_node(w.failed), "reason": "not needed"}, who=OPERATOR
    ),
    "threads_many": lambda w: Call(
        body={"action": "pause", "threads": [str(w.queued), str(w.failed)]}, who=OPERATOR
    ),
    "threads_settle": lambda w: _thread(
        w.asking[0],
        body={
            "activity": str(w.asking[1]),
            "verdict": "happened",
            "result": {"path": "p"},
            "reason": "it is there",
        },
        who=OPERATOR,
    ),
    "threads_code": lambda w: _thread(w.changed, body={"choice": "pin"}, who=OPERATOR),
    "threads_code_changes": lambda w: _thread(w.changed, who=OPERATOR),
    "threads_code_many": lambda w: Call(
        body={"choice": "pin", "threads": [str(w.changed)]}, who=OPERATOR
    ),
    "threads_cancel": lambda w: _thread(w.queued, body={"reason": "no need"}, who=OPERATOR),
    "threads_input": lambda w: _thread(w.inbox, body={"message": "and the rain"}, who=OPERATOR),
    "threads_edit": lambda w: _thread(
        w.gate.thread, body={"changes": {"goal": "weather"}, "reason": "typo"}, who=OPERATOR
    ),
    "threads_fork": lambda w: _thread(
        w.ended,
        body={"checkpoint": str(w.first), "changes": {"goal": "weather"}, "title": "What if"},
        who=EITHER,
        status=201,
    ),
    "threads_capsule": lambda w: _thread(w.ended, who=("operator", "auditor")),
    "external_take": lambda w: _thread(w.elsewhere, body={"name": "host-2"}, who=OPERATOR),
    "external_renew": lambda w: _reported(w, body={"seconds": 30}),
    "external_release": lambda w: _reported(w, body={"as": "failed", "reason": "no money"}),
    "external_next": lambda w: _thread(w.reporting[0], query={"after": "1"}),
    "external_record_read": lambda w: _thread(w.reporting[0], query={"start": "0", "limit": "5"}),
    "external_commit": lambda w: _reported(
        w,
        body={"step": 1, "nodes": ["work"], "next_nodes": ["work"], "delta": {"set": {"n": 2}}},
        status=201,
    ),
    "external_begin": lambda w: _reported(
        w, body={"node": "work", "key": "mail#0", "kind": "effect", "tool": "mail", "args": {}}
    ),
    "external_check": lambda w: _reported(
        w, body={"node": "work", "key": "mail#0", "kind": "effect", "tool": "mail", "args": {}}
    ),
    "external_settle": lambda w: _reported(
        w,
        body={
            "node": "work",
            "key": "charge#0",
            "kind": "effect",
            "tool": "charge",
            "state": "done",
            "result": {"id": "ch_1"},
        },
    ),
    "external_record": lambda w: _reported(
        w, body={"records": [{"node": "work", "key": "log#0", "result": [1]}]}
    ),
    "otlp_traces": lambda w: Call(
        body={
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {
                            "spans": [
                                {
                                    "traceId": "5b8efff798038103d269b633813fc60c",
                                    "spanId": "eee19b7ec3c1b174",
                                    "name": "chat gpt-5",
                                    "attributes": [
                                        {
                                            "key": "gen_ai.operation.name",
                                            "value": {"stringValue": "chat"},
                                        }
                                    ],
                                }
                            ]
                        }
                    ]
                }
            ]
        },
        who=OPERATOR,
    ),
    "external_undo": lambda w: Call(
        {"thread_id": str(w.undoing[0]), "activity_id": str(w.undoing[2])},
        headers={"Gatepost-Lease": str(w.undoing[1])},
        body={"result": "refunded"},
        who=OPERATOR,
    ),
    "external_ask": lambda w: _reported(
        w,
        body={
            "ask": [
                {"node": "work", "key": "q#0", "question": {"question": "How many?"}},
                {
                    "node": "work",
                    "key": "mail#1",
                    "effect": {"tool": "mail", "args": {}, "gate": {"title": "Mail it?"}},
                },
            ]
        },
    ),
    "external_note": lambda w: _reported(
        w, body={"thoughts": [{"node": "work", "text": "The rain explains it."}]}
    ),
    "states_load": lambda w: Call(query={"name": w.saved, "number": "1"}),
    "states_save": lambda w: Call(
        body={"name": w.saved, "state": {"turn": 2}, "after": 1}, who=OPERATOR, status=201
    ),
    "threads_verify": lambda w: _thread(w.ended, body={}),
    "threads_roll_back": lambda w: _thread(
        w.ended, body={"checkpoint": str(w.first), "reason": "wrong data"}, who=EITHER, status=202
    ),
}


def example(world: World, operation: Operation) -> Call:
    """The good example of a call."""
    assert operation.id in EXAMPLES, f"tests/contract/calls.py has no example of {operation.id}"
    return EXAMPLES[operation.id](world)


def address(operation: Operation, call: Call) -> str:
    """The path with its parameters and the query."""
    filled = operation.path.format(**{k: quote(v, safe="") for k, v in call.params.items()})
    return f"{filled}?{urlencode(call.query)}" if call.query else filled


def send(client: Any, operation: Operation, call: Call, **headers: str) -> Any:
    """The answer to a call, through Django's test client."""
    path, headers = address(operation, call), call.headers | headers
    if call.files:
        form = {name: SimpleUploadedFile(*file) for name, file in call.files.items()}
        return client.post(path, form, headers=headers)
    if call.body is None:
        return client.generic(operation.method.upper(), path, headers=headers)
    raw = call.body if isinstance(call.body, bytes) else json.dumps(call.body)
    return client.generic(
        operation.method.upper(), path, raw, content_type="application/json", headers=headers
    )
