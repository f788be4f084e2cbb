"""Threads and requests in all conditions that the calls need."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms
from checkpoints import queries, store
from checkpoints.memories import NewMemory, Where
from checkpoints.states import EventKind
from dashboard.administration.endpoints import MAKE, MakeEndpoint
from dashboard.board.incidents.snooze import SNOOZE, SnoozeIncident, time_after
from dashboard.board.incidents.take import TAKE
from dashboard.external import leases, reports, saved_states
from dashboard.kit.action import read
from dashboard.kit.shapes.requests import Nothing
from dashboard.threads.pause import PAUSE, Pause
from dashboard.threads.roll_back import roll_back
from dashboard.threads.start import start_or_continue
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.authenticator import Authenticator
from workers.external.announcement import Announcement
from workers.external.committed import Report

from .things import (
    make_access_change,
    make_breaker,
    make_deputy,
    make_device,
    make_encrypted,
    make_erasure,
    make_factor,
    make_identity,
    make_inbound,
    make_incident,
    make_mail,
    make_mcp_server,
    make_memory,
    make_sign_in,
    make_subscription,
    make_view,
)


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
    settled: tuple[UUID, UUID]  # another one, and its lease: no effect has begun
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
    identity: UUID  # a hook's word for the operator, not confirmed
    access: UUID  # a change of a viewer's roles that another admin asked for
    deputy: UUID  # the second manager, of the manager, next year
    factor: str  # the secret of the operator's authenticator app
    passkey: UUID  # of the operator
    memory: UUID  # a text that all agents of the workspace read
    encrypted: UUID  # its channel `note` is encrypted, and readable by all


def make_world(cast: Cast) -> World:
    """The threads of the examples; what they change is theirs alone."""
    agent = scene.make_agent()
    operator = cast.actor("operator")
    paused = scene.start(cast.workspace, agent)
    PAUSE.run(operator, Pause(), paused)
    failed = scene.lease(scene.start(cast.workspace, agent))
    scene.step(failed, report="half", leave_by=EventKind.THREAD_FAILED)
    ended = scene.lease(scene.start(cast.workspace, agent))
    scene.step(ended, report="draft")
    scene.effect(ended)
    where = Where(ended.thread, ended.branch, ended.step + 1, "publish")
    new = NewMemory("workspace", "", "fact", "Storms delay flights.", where=where)
    store.remember(cast.workspace, new, actor="agent:research", lease=ended.token)
    scene.step(ended, report="two", leave_by=EventKind.THREAD_SUCCEEDED)
    return World(
        cast=cast,
        agent=agent,
        queued=scene.start(cast.workspace, agent),
        paused=paused,
        inbox=store.start(
            _reader(),
            input={"goal": "delays"},
            workspace=cast.workspace,
            actor="user:1",
            title="Delays",
            name="mail",
        ),
        failed=failed.thread,
        changed=changed_code(cast, agent),
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
        settled=_settled(cast),
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
        identity=make_identity(cast, "operator"),
        access=make_access_change(cast),
        deputy=make_deputy(cast, "manager", "second_manager"),
        factor=make_factor(cast, "operator"),
        passkey=Authenticator().added(cast.users["operator"]).id,
        memory=make_memory(cast),
        encrypted=make_encrypted(cast),
    )


def _on_hold(cast: Cast, agent: UUID) -> UUID:
    thread = scene.start(cast.workspace, agent)
    store.cancel(thread, actor="user:0")
    store.set_hold(thread, workspace=cast.workspace, reason="case 17", actor="user:0")
    return thread


def _snoozed(cast: Cast) -> UUID:
    """An incident that the operator has snoozed."""
    wanted = read(SnoozeIncident, {"until": time_after(timedelta(hours=4))})
    return SNOOZE.run(cast.actor("operator"), wanted, make_incident(cast.workspace)).id


def _taken(cast: Cast) -> UUID:
    """An incident that the operator has taken."""
    return TAKE.run(cast.actor("operator"), Nothing(), make_incident(cast.workspace)).id


def _saved(cast: Cast) -> str:
    """A state under a name."""
    saved_states.save_state(cast.actor("operator"), "conversation-7", {"turn": 1})
    return "conversation-7"


def _elsewhere(cast: Cast) -> UUID:
    """A thread of an agent that works elsewhere."""
    tools = {"charge": {"undo": "refund", "idempotent": True}, "mail": {}}
    made = Announcement(framework="python", tools=tools)
    return start_or_continue(
        cast.actor("operator"), agent="elsewhere", input={"n": 1}, external=made
    )[0]


def _reporting(cast: Cast) -> tuple[UUID, UUID]:
    """One that such an agent has taken, with an effect that has begun."""
    operator, thread = cast.actor("operator"), _elsewhere(cast)
    token = leases.take(operator, thread, "host-1", 60).work.token
    _begin(operator, thread, token, "charge#0")
    return thread, token


def _settled(cast: Cast) -> tuple[UUID, UUID]:
    """One that such an agent has taken, and nothing more."""
    thread = _elsewhere(cast)
    return thread, leases.take(cast.actor("operator"), thread, "host-1", 60).work.token


def _begin(actor: Any, thread: UUID, token: UUID, key: str) -> UUID:
    at = {"node": "work", "index": 0, "key": key}
    how: dict[str, Any] = {"step": None, "kind": "effect", "tool": "charge", "gate": None}
    answer = reports.begin(actor, thread, token, at, args={"cents": 1}, **how)
    assert answer.activity is not None
    return answer.activity.id


def _undoing(cast: Cast) -> tuple[UUID, UUID, UUID]:
    """One that somebody rolled back; its agent has taken it to undo what it did."""
    operator, thread = cast.actor("operator"), _elsewhere(cast)
    token = leases.take(operator, thread, "host-1", 60).work.token
    effect = _begin(operator, thread, token, "charge#0")
    at = {"node": "work", "index": 0, "key": "charge#0"}
    how: dict[str, Any] = {"error": "", "usage": None, "kind": "effect", "tool": "charge"}
    how |= {"args": None, "step": None, "state": "done", "result": "ch_1"}
    reports.settle(operator, thread, token, at, **how)
    report = Report(None, None, ["work"], ["work"], {"set": {"n": 2}})
    reports.commit(operator, thread, token, report)
    leases.release(operator, thread, token, "succeeded", "", None)
    first = queries.checkpoint_by_number(thread, 0).id
    roll_back(operator, thread, first, "wrong")
    return thread, leases.take(operator, thread, "host-1", 60).work.token, effect


def _held(cast: Cast, agent: UUID) -> ApprovalRow:
    """A request whose decision counts in an hour."""
    row = scene.waiting(cast.workspace, agent, terms=Terms(undo_window=3600))
    return decisions.decide(cast.actor("manager"), row.id, "approve", row.standing_hash)


def _hook(cast: Cast) -> UUID:
    """A place that is told news; nothing is sent, since no worker works."""
    target = "https://agent.example/in"
    made = MakeEndpoint(kind="webhook", name="agent elsewhere", target=target)
    return MAKE.run(cast.actor("admin"), made).id


def changed_code(cast: Cast, agent: UUID) -> UUID:
    """A thread that met another version of its agent."""
    work = scene.lease(scene.start(cast.workspace, agent))
    query = {"kind": "code", "version": str(agent), "choices": ["pin", "accept", "fork"]}
    store.leave(work, EventKind.THREAD_PARKED, reason="The code changed", waiting_on=query)
    return work.thread


def make_talker() -> str:
    """An agent with an inbox that starts without any input."""
    _reader("talker", {**scene.SCHEMA, "required": []})
    return "talker"


def _reader(agent: str = "reader", schema: dict[str, Any] = scene.SCHEMA) -> UUID:
    """An agent with an inbox."""
    return store.announce_version(
        agent=agent,
        version=1,
        fingerprint="f" * 64,
        label="Reader",
        description="Reads what is sent",
        schema_version=1,
        schema=schema,
        channels=scene.CHANNELS,
        graph={**scene.GRAPH, "inbox": "findings"},
        tools={},
        queue="gatepost",
    )
