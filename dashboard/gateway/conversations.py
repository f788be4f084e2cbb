"""Conversations: the threads on which calls that need nobody are recorded (ADR 0050).

A conversation is what one token says to one server under one name. A process that serves it has a
thread of it under its own lease, with any number of calls at work side by side. Each statement is
short; nothing is held while a server works.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import structlog
from django.conf import settings

from checkpoints import errors as ground
from checkpoints import leases, queries, store
from checkpoints.agent_versions import EXTERNAL_QUEUE, GATEWAY_AGENT
from checkpoints.errors import AlreadyStarted
from checkpoints.limits import lease_seconds
from checkpoints.records import Work
from checkpoints.state import deltas
from checkpoints.states import FINISHED, EventKind, Status
from checkpoints.verdicts import about_unknown
from checkpoints.views import ThreadRow
from dashboard.identity.permissions import Actor
from workers.engine.between_steps import obey_wish
from workers.external import committed
from workers.external.announcement import Announcement, announce
from workers.external.open_step import ReportedLedger

from .registry.queries import ServerRow, ToolRow

log = structlog.get_logger("gatepost.mcp")
NODE: Final = "call"
CONVERSATION: Final = re.compile(r"[A-Za-z0-9._-]{0,80}")
CALLS: Final = "/calls/"
DIGITS: Final = 6
# A thread ends after this number of calls: nobody has to look through an endless step.
CALLS_MAX: Final = 2_000
ROUNDS: Final = 20


class Stopped(Exception):
    """The conversation continues only once a person has looked at a thread."""

    def __init__(self, thread: UUID, reason: str) -> None:
        super().__init__(reason)
        self.thread, self.reason = thread, reason


@dataclass(frozen=True, slots=True)
class Client:
    """A token that calls a server in a conversation; with the tool, where one is called."""

    actor: Actor
    server: ServerRow
    conversation: str
    tool: ToolRow | None = None

    @property
    def agent(self) -> str:
        """The agent whose threads these are."""
        return GATEWAY_AGENT + self.server.name

    @property
    def owner(self) -> str:
        """The name under which the log has the caller."""
        return f"{self.actor.id}/agent:{self.agent}"

    @property
    def prefix(self) -> str:
        """The beginning of the names of all threads of the conversation."""
        token = self.actor.grant.prefix if self.actor.grant else "login"
        return f"{token}/{self.conversation}"

    @property
    def labels(self) -> dict[str, str]:
        """The labels of its threads, for people who look for them and for policies."""
        named = {"conversation": self.conversation} if self.conversation else {}
        return {"mcp": self.server.name, **named}


def start(
    client: Client, prefix: str, number: int, *, title: str, input: Mapping[str, Any]
) -> UUID:
    """Begin a thread of the conversation; one that another request began meanwhile is as good."""
    made = Announcement(framework="MCP gateway", nodes=(NODE,), can=())
    version = announce(client.agent, made, workspace=client.actor.workspace)
    try:
        return store.start(
            version,
            input=input,
            workspace=client.actor.workspace,
            actor=client.actor.id,
            name=f"{prefix}{number:0{DIGITS}d}",
            title=title[:300],
            labels=client.labels,
        )
    except AlreadyStarted as known:
        thread: UUID = known.facts["thread"]
        return thread


def newest(client: Client, prefix: str) -> tuple[ThreadRow | None, int]:
    """(the newest thread whose name is `prefix` and a number, the number of the next one)."""
    row = queries.newest_numbered(
        prefix, DIGITS, agent=client.agent, workspace=client.actor.workspace
    )
    return row, 1 if row is None or row.name is None else int(row.name[-DIGITS:]) + 1


def lease(thread: UUID, owner: str) -> Work | None:
    """Take the lease of a thread that is queued, or whose holder let it expire."""
    seconds = lease_seconds()
    return leases.acquire(thread, owner=owner, seconds=seconds) or leases.take_over(
        thread, owner=owner, seconds=seconds
    )


def finish(work: Work, outcome: str, reason: str = "") -> None:
    """End a thread: its step is committed, and it has succeeded."""
    delta = {"set": {"outcome": outcome}}
    report = committed.Report(
        id=None, step=work.step + 1, nodes=(NODE,), next_nodes=(), delta=delta
    )
    committed.commit(work, committed.id_of(work, report), report)
    committed.stop_where_due(work)
    if work.status is Status.RUNNING:
        store.leave(work, EventKind.THREAD_SUCCEEDED, reason=reason)


def park_interrupted(work: Work) -> bool:
    """Leave the thread to a person where a call's outcome is unknown; False where none is.

    The next holder of the lease looks: the former holder may have ended in the middle of calls.
    """
    rows = queries.step_activities(work.thread, branch=work.branch, step=work.step + 1)
    for row in rows:
        if row.state == "started":
            store.note_unknown(work, row.id)
    unknown = [row for row in rows if row.state in ("started", "unknown")]
    if unknown:
        park(work, unknown[0].id, unknown[0].tool, "the gateway lost the call")
    return bool(unknown)


def park(work: Work, activity: UUID, tool: str, why: str) -> None:
    """Leave the thread to a person, who says whether a call happened."""
    why = why.removesuffix(".")
    reason = f"Whether {tool!r} happened is unknown: {why}. Check outside, then say what happened."
    store.leave(
        work, EventKind.THREAD_PARKED, reason=reason[:2000], waiting_on=about_unknown(activity)
    )


def is_in_doubt(row: ThreadRow) -> bool:
    """True for a thread that waits only for a person to say whether a call of it happened."""
    waits = row.waiting_on if isinstance(row.waiting_on, Mapping) else {}
    return row.status is Status.ATTENTION and waits.get("kind") == "unknown"


def _refuse_repeat(
    client: Client, tool: str, args: Mapping[str, Any], also: Sequence[UUID]
) -> None:
    alike, prefix = deltas.canonical(dict(args)), client.prefix + CALLS
    for thread, branch, step in queries.threads_in_doubt(
        prefix, tool, agent=client.agent, workspace=client.actor.workspace, also=also
    ):
        for row in queries.step_activities(thread, branch=branch, step=step):
            same = row.tool == tool and deltas.canonical(row.args) == alike
            if same and row.state == "unknown":
                raise Stopped(thread, f"Whether this very call of {tool!r} happened is unknown.")


def _refuse_stopped(row: ThreadRow) -> None:
    if row.stopped is not None:
        raise Stopped(row.id, row.stopped.sentence)


@dataclass(slots=True)
class Stretch:
    """The thread that this process has of a conversation; `unknown` is (activity, tool, why)."""

    client: Client
    thread: UUID
    token: UUID
    at_work: int = 0
    calls: int = 0
    used_at: float = field(default_factory=time.monotonic)
    unknown: tuple[UUID, str, str] | None = None

    @property
    def is_open(self) -> bool:
        """True while it takes further calls; else it ends with those at work."""
        return self.unknown is None and self.calls < CALLS_MAX


class Conversations:
    """All conversations of this process, used by many threads at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stretches: dict[tuple[UUID, str], Stretch] = {}
        self._opening: dict[tuple[UUID, str], threading.Lock] = {}

    @contextmanager
    def entered(self, client: Client) -> Iterator[tuple[Stretch, Work]]:
        """The conversation's thread with one more call at work, and its row as it stands now.

        `leave` ends the call; where this block raises it is ended here. Raises Stopped.
        """
        for _ in range(ROUNDS):
            stretch = self._enter(client)
            try:
                work = leases.held(
                    stretch.thread, token=stretch.token, workspace=client.actor.workspace
                )
                if work is None:
                    self._forget(stretch)
                    continue
                if work.wish == "pause":
                    raise Stopped(stretch.thread, "Paused by a person.")
                if work.is_stopped:
                    raise Stopped(stretch.thread, "A breaker stops its calls.")
                yield stretch, work
            except BaseException:
                self.leave(stretch)
                raise
            return
        raise ground.NotAllowedNow("The conversation's thread is taken away again and again.")

    def refuse_repeat(self, client: Client, tool: str, args: Mapping[str, Any]) -> None:
        """Refuse the very call of which nobody knows whether it happened; raises Stopped."""
        with self._lock:
            doubt = [s.thread for s in self._stretches.values() if s.unknown is not None]
        _refuse_repeat(client, tool, args, doubt)

    def leave(self, stretch: Stretch, wish: str = "pause") -> None:
        """A call has ended; the last one leaves the thread where a person has to look at it.

        `wish` is the thread's as the call has seen it last.
        """
        with self._lock:
            stretch.at_work -= 1
            stretch.used_at = time.monotonic()
            if stretch.at_work or not (wish or stretch.unknown):
                return
        try:
            work = self._held(stretch)
            if work is None:
                self._forget(stretch)
            elif stretch.unknown is not None:
                park(work, *stretch.unknown)
                self._forget(stretch)
            elif obey_wish(work, tuple, ReportedLedger()):
                self._forget(stretch)
        except ground.LeaseLost:
            self._forget(stretch)

    def _held(self, stretch: Stretch) -> Work | None:
        workspace = stretch.client.actor.workspace
        return leases.held(stretch.thread, token=stretch.token, workspace=workspace)

    def _key(self, client: Client) -> tuple[UUID, str]:
        return client.server.id, client.prefix

    def _enter(self, client: Client) -> Stretch:
        key = self._key(client)
        with self._lock:
            stretch = self._stretches.get(key)
            if stretch is not None and stretch.is_open:
                return self._counted(stretch)
            opening = self._opening.setdefault(key, threading.Lock())
        with opening:
            with self._lock:
                stretch = self._stretches.get(key)
                if stretch is not None and stretch.is_open:
                    return self._counted(stretch)
            if stretch is not None:
                self._set_aside(stretch)
            opened = self._open(client)
            with self._lock:
                self._stretches[key] = opened
                return self._counted(opened)

    def _counted(self, stretch: Stretch) -> Stretch:
        stretch.at_work += 1
        stretch.calls += 1
        stretch.used_at = time.monotonic()
        return stretch

    def _set_aside(self, stretch: Stretch) -> None:
        """Set a thread aside that takes no further calls; it ends with its last one."""
        with self._lock:
            self._stretches[stretch.thread, "full"] = stretch
            stretch.used_at = 0.0

    def _open(self, client: Client) -> Stretch:
        """Continue the newest thread of the conversation, or begin the next; raises Stopped."""
        prefix = client.prefix + CALLS
        for _ in range(ROUNDS):
            row, number = newest(client, prefix)
            if row is not None and is_in_doubt(row):
                row = None  # a person looks at that call; the others continue
            if row is not None and row.status not in (*FINISHED, Status.QUEUED, Status.RUNNING):
                raise Stopped(row.id, row.status_reason or f"The thread is {row.status}.")
            if row is not None and row.status not in FINISHED:
                _refuse_stopped(row)
            work = None
            if row is not None and row.status not in FINISHED:
                work = lease(row.id, client.owner)
                if work is not None and park_interrupted(work):
                    continue
            if work is None:
                thread = start(
                    client,
                    prefix,
                    number,
                    title=f"Calls of {client.actor.name} to {client.server.name}",
                    input={"server": client.server.name, "conversation": client.conversation},
                )
                work = lease(thread, client.owner)
                if work is None:
                    _refuse_stopped(queries.thread(thread, workspace=client.actor.workspace))
            if work is not None:
                return Stretch(client, work.thread, work.token)
        raise ground.NotAllowedNow("The conversation's thread is taken away again and again.")

    def _forget(self, stretch: Stretch) -> None:
        with self._lock:
            for key, known in list(self._stretches.items()):
                if known is stretch:
                    del self._stretches[key]
                    self._opening.pop(key, None)

    def look_after(self) -> None:
        """Renew the leases of conversations at work, end those that are over; a few statements."""
        now = time.monotonic()
        with self._lock:
            before = now - float(settings.GATEPOST_MCP_IDLE_SECONDS)
            idle = [s for s in self._stretches.values() if not s.at_work and s.used_at < before]
            others = [s for s in self._stretches.values() if s not in idle]
        for stretch in idle:
            self.end(stretch)
        for stretch in others:
            leases.renew(stretch.thread, token=stretch.token, seconds=lease_seconds())

    def end(self, stretch: Stretch) -> None:
        """End the thread of a conversation that says nothing more."""
        with self._lock:
            if stretch.at_work:
                return
        self._forget(stretch)
        try:
            work = self._held(stretch)
            if work is not None and not park_interrupted(work):
                finish(work, f"{stretch.calls} calls")
        except (ground.LeaseLost, ground.NotAllowedNow):
            log.warning("mcp.conversation_lost", thread=str(stretch.thread))

    def end_all(self) -> None:
        """End all that have no call at work: the process stops."""
        with self._lock:
            stretches = list(self._stretches.values())
        for stretch in stretches:
            self.end(stretch)


def look_for_lost(owner: str) -> int:
    """Leave to people, or end, what other processes left behind; how many threads."""
    rows = queries.threads_past_lease(GATEWAY_AGENT, queue=EXTERNAL_QUEUE, limit=50)
    done = 0
    for thread, name in rows:
        work = leases.take_over(thread, owner=owner, seconds=lease_seconds())
        if work is None:
            continue
        done += 1
        if park_interrupted(work):
            continue
        if CALLS in name:
            finish(work, "the gateway's process ended")
        else:  # a held call: its client comes back for it
            store.hand_back(work, reason="the gateway's process ended")
    # A person said what happened, and the conversation continued elsewhere meanwhile.
    for thread, name in queries.idle_numbered(
        GATEWAY_AGENT, queue=EXTERNAL_QUEUE, seconds=2 * lease_seconds(), limit=50
    ):
        if CALLS in name and (work := leases.acquire(thread, owner=owner, seconds=lease_seconds())):
            done += 1
            finish(work, "a person said what happened")
    return done
