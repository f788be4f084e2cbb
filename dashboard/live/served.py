"""One topic of a hub: the sockets that follow it, its pace, and the frames that they get.

A topic works on one rendering at a time and at most 20 a second; hints that come meanwhile only
mark it dirty, so the newest state wins. Texts are encoded once and handed to the sockets
themselves, past Channels' dispatch, which would cost a hop to a thread per socket and frame.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol
from uuid import UUID

from dashboard.wire.topics import FAMILY, Topic

from .frames import Event, Frame, Outbox

log = logging.getLogger(__name__)

MIN_INTERVAL = 0.05  # seconds between two renderings of a topic
COST_FACTOR = 3.0  # and at least this many times as long as the last one took
MAX_INTERVAL = 1.0

Roles = frozenset[str]
Regions = frozenset[str]


class Reader(Protocol):
    """A reader of a topic; only the workspace and the roles matter here."""

    @property
    def workspace(self) -> UUID: ...

    @property
    def roles(self) -> Roles: ...


@dataclass(frozen=True, slots=True)
class Look:
    """The result of a look at a topic: its mark and number, HTML per rights class and region."""

    mark: Any
    seq: int
    html: Mapping[Roles, Mapping[str, str]]


@dataclass(slots=True)
class Want:
    """One socket's subscription to a topic; `seq` is the newest number it has shown.

    `shown` is the digest of the state that its page was made from, where nothing came since.
    One that `inflates` takes deflated frames; of the regions in `sent` it has the newest HTML.
    """

    regions: Regions
    seq: int = 0
    synced: bool = False
    shown: str = ""
    inflates: bool = False
    sent: Regions = frozenset()

    def events(self, frame: Frame) -> tuple[Event, Callable[[], Event]]:
        """The event of a frame for this socket, and the one where it has missed those before."""
        if not self.inflates:
            return frame.event if self.synced else frame.whole, lambda: frame.whole
        if not self.synced:
            event, self.sent = frame.deflated_whole, self.regions
        elif frame.changed.keys() <= self.sent:
            event = frame.deflated
        else:
            event, self.sent = frame.deflated_alone, self.sent | frame.changed.keys()
        return event, lambda: frame.deflated_whole


def digest_of(topic: str, mark: Any) -> str:
    """A short name of a topic's state: what a page brings of its look, to be sent only once."""
    return sha256(f"{topic} {mark!r}".encode()).hexdigest()[:16]


@dataclass(eq=False, slots=True)
class Member:
    """A socket as the hub sees it."""

    key: str
    reader: Reader
    outbox: Outbox
    wants: dict[Topic, Want] = field(default_factory=dict)


Group = tuple[Roles, Regions]
AsyncLook = Callable[
    [Topic, Mapping[Roles, Regions], Any, dict[str, Any]], Coroutine[Any, Any, Look | None]
]
Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class Served:
    """One topic with the sockets that follow it and the last frame of each of their groups.

    `look` reads and renders, as `Floor.look` does, and `spawn` starts a task.
    """

    def __init__(self, topic: Topic, look: AsyncLook, spawn: Spawn) -> None:
        self.topic, self._look, self._spawn = topic, look, spawn
        # By group, so that a round asks for each group once, not for each of a thousand sockets.
        self._groups: dict[Group, dict[Member, Want]] = defaultdict(dict)
        self.frames: dict[Group, Frame] = {}
        self.memo: dict[str, Any] = {}
        self.mark: Any = None
        self.seq = 0
        self.dirty = self.afresh = False
        self.task: asyncio.Task[None] | None = None
        self.free_at = 0.0

    def members(self) -> list[Member]:
        """The sockets that follow, as they are now."""
        return [member for members in self._groups.values() for member in members]

    def add(self, member: Member, want: Want) -> None:
        """Follow; catches up immediately when the socket's page is older than the last frame."""
        group = member.reader.roles, want.regions
        self._groups[group][member] = want
        frame = self.frames.get(group)
        if frame is None:
            self._begin()
        elif frame.seq > want.seq:
            self._give({member: want}, frame, None)

    def drop(self, member: Member) -> bool:
        """Follow no more; returns whether nobody does."""
        # In all groups: its roles may have changed since it came.
        for group, members in tuple(self._groups.items()):
            members.pop(member, None)
            if not members:
                del self._groups[group]
        return not self._groups

    def poke(self, *, afresh: bool = False) -> None:
        """Something may be new: look as soon as the pace allows, once for all pokes till then.

        `afresh` says that it is new even if the mark is not.
        """
        self.dirty = True
        self.afresh |= afresh
        self._begin()

    def _begin(self) -> None:
        if self.task is None and self._groups:
            self.task = self._spawn(self._work())

    async def _work(self) -> None:
        try:
            while self._groups and (self.dirty or self._groups.keys() - self.frames.keys()):
                pause = self.free_at - time.monotonic()
                if pause > 0:
                    await asyncio.sleep(pause)
                await self._round()
        finally:
            self.task = None

    async def _round(self) -> None:
        # Taken before the look: a poke that comes during it asks for one more.
        poked, self.dirty = self.dirty, False
        afresh, self.afresh = self.afresh, False
        groups = set(self._groups)
        known = self.mark if groups <= self.frames.keys() and not afresh else None
        wanted: dict[Roles, Regions] = defaultdict(frozenset)
        for roles, regions in groups:
            wanted[roles] |= regions
        began = time.monotonic()
        try:
            look = await self._look(self.topic, dict(wanted), known, self.memo)
        except Exception:
            log.exception("Could not read %s; pages poll meanwhile", self.topic.name)
            self.free_at = time.monotonic() + MAX_INTERVAL
            # Sockets of a group that has no frame wait for the next hint or poll.
            for group in groups - self.frames.keys():
                self.frames[group] = Frame(self.topic.name, 0, {}, {})
            self.mark = None
            return
        cost = time.monotonic() - began
        least = MAX_INTERVAL if self.topic.kind == FAMILY else MIN_INTERVAL
        self.free_at = began + min(max(least, COST_FACTOR * cost), MAX_INTERVAL)
        if look is not None:
            # Not poked: a newcomer is the reason to look, and the others have this state.
            unmoved = not poked and look.mark is not None and look.mark == self.mark
            self._publish(look, groups, idle=groups & self.frames.keys() if unmoved else set())

    def _publish(self, look: Look, groups: set[Group], *, idle: set[Group]) -> None:
        # Two processes may read in one microsecond, a database may fail over: never backwards.
        self.mark, self.seq = look.mark, max(self.seq, look.seq)
        before = self.frames
        self.frames = {group: before[group] for group in idle}
        for roles, regions in groups - idle:
            html = {r: look.html[roles][r] for r in regions if r in look.html[roles]}
            last = before.get((roles, regions))
            changed = (
                html
                if last is None
                else {r: text for r, text in html.items() if last.regions.get(r) != text}
            )
            before_it = last.regions if last else None
            self.frames[roles, regions] = Frame(self.topic.name, self.seq, changed, html, before_it)
        for group in groups - idle:
            self._give(self._groups.get(group, {}), self.frames[group], before.get(group))

    def _give(self, members: Mapping[Member, Want], frame: Frame, last: Frame | None) -> None:
        name, seq = self.topic.name, frame.seq
        for member, want in tuple(members.items()):
            if seq < want.seq or (last is None and seq == want.seq):
                continue  # its page was made from this state or a newer one
            if want.shown and want.shown == digest_of(name, self.mark):
                want.synced, want.seq, want.shown = True, seq, ""
                continue
            want.shown = ""
            event, whole = want.events(frame)
            want.synced, want.seq = True, seq
            member.outbox.offer(name, event, whole=whole)
