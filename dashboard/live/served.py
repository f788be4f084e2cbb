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

    `marks` are those of the regions as its page brought them. `shown` is the digest of the state
    that the page was made from, where nothing came since: it stands for regions that the page
    fetches. One that `inflates` takes deflated frames; of the regions in `sent` it has the newest
    HTML.
    """

    regions: Regions
    seq: int = 0
    synced: bool = False
    marks: Mapping[str, str] = field(default_factory=dict)
    shown: str = ""
    inflates: bool = False
    sent: Regions = frozenset()

    def unproven(self, frame: Frame) -> Regions:
        """The regions of a frame of which no mark says that the page shows the same."""
        return frozenset(r for r, mark in frame.marks.items() if self.marks.get(r) != mark)

    def first(self, frame: Frame, names: Regions) -> tuple[Event, Callable[[], Event]]:
        """The event with these regions of the first frame, and the one with all of it."""
        self.sent = names if self.inflates else frozenset()
        event = frame.part(names, deflated=self.inflates)
        return event, lambda: frame.deflated_whole if self.inflates else frame.whole

    def events(self, frame: Frame) -> tuple[Event, Callable[[], Event]]:
        """The event of a later frame, and the one where the socket has missed those before."""
        if not self.inflates:
            return frame.event, lambda: frame.whole
        if frame.changed.keys() <= self.sent:
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
        self.dirty = self.afresh = self.unsure = False
        self._late: set[Member] = set()  # joined after the newest look began
        self.task: asyncio.Task[None] | None = None
        self.free_at = 0.0

    def members(self) -> list[Member]:
        """The sockets that follow, as they are now."""
        return [member for members in self._groups.values() for member in members]

    def add(self, member: Member, want: Want) -> None:
        """Follow; catches up immediately where its page shows less than the last frame."""
        group = member.reader.roles, want.regions
        self._groups[group][member] = want
        self._late.add(member)
        frame = self.frames.get(group)
        if frame is None:
            self._begin()
        else:
            self._give({member: want}, frame, news=False)

    def drop(self, member: Member) -> bool:
        """Follow no more; returns whether nobody does."""
        self._late.discard(member)
        # In all groups: its roles may have changed since it came.
        for group, members in tuple(self._groups.items()):
            members.pop(member, None)
            if not members:
                del self._groups[group]
                # Nobody keeps it fresh from here on: who comes next is given a new one.
                self.frames.pop(group, None)
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
            while self._groups and (
                self.dirty or self.unsure or self._groups.keys() - self.frames.keys()
            ):
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
        unsure, self.unsure = self.unsure, False
        self._late.clear()
        groups = set(self._groups)
        is_same = groups <= self.frames.keys() and not afresh and not unsure
        known = self.mark if is_same else None
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
            for group in groups & self._groups.keys() - self.frames.keys():
                self.frames[group] = Frame(self.topic.name, 0, {})
            self.mark = None
            return
        cost = time.monotonic() - began
        least = MAX_INTERVAL if self.topic.kind == FAMILY else MIN_INTERVAL
        self.free_at = began + min(max(least, COST_FACTOR * cost), MAX_INTERVAL)
        if look is not None:
            # Not poked: a newcomer is the reason to look, and the others have this state.
            idle = not poked and look.mark is not None and look.mark == self.mark
            self._publish(look, groups, idle=idle)

    def _publish(self, look: Look, groups: set[Group], *, idle: bool) -> None:
        groups = groups & self._groups.keys()  # nobody follows the others any more
        # Two processes may read in one microsecond, a database may fail over: never backwards.
        self.mark, self.seq = look.mark, max(self.seq, look.seq)
        before, self.frames = self.frames, {}
        for roles, regions in groups:
            html = {r: look.html[roles][r] for r in regions if r in look.html[roles]}
            frame = Frame(self.topic.name, self.seq, html, before.get((roles, regions)))
            self.frames[roles, regions] = frame
        for group in groups:
            frame = self.frames[group]
            news = group in before and (not idle or bool(frame.changed))
            self._give(self._groups[group], frame, news=news)

    def _give(self, members: Mapping[Member, Want], frame: Frame, *, news: bool) -> None:
        """Send a frame to those that lack it; where it is `news`, all that follow already do."""
        seq, state = frame.seq, digest_of(self.topic.name, self.mark)
        for member, want in tuple(members.items()):
            if want.synced:
                if not news:
                    continue
                event, whole = want.events(frame)
            elif unproven := want.unproven(frame):
                differ = want.marks.keys() & unproven
                if seq <= want.seq and differ and member in self._late:
                    # Which of the two is newer? Only a look after the page's own tells.
                    self.unsure = True
                    self._begin()
                    continue
                if seq < want.seq or (seq == want.seq and not differ and not news):
                    continue  # its page was made from this state or a newer one
                event, whole = want.first(frame, unproven)
            else:
                event, whole = want.first(frame, unproven)
                # Empty: what the page fetches by itself has no mark, and may be older.
                if seq <= want.seq or want.shown == state or (want.regions and not want.seq):
                    event = None
            want.synced, want.seq, want.shown = True, seq, ""
            if event is not None:
                member.outbox.offer(self.topic.name, event, whole=whole)
