"""One hub per process and event loop: a hint causes one read and one rendering, for all sockets.

A safety net reads the heads of all topics from time to time: a lost hint costs one such poll.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol
from uuid import UUID

from dashboard.wire.topics import AT_EVERY_HINT, FAMILY, Topic, lists_of

from .followers import Followers
from .frames import Event, Outbox, event_of
from .served import Look, Member, Reader, Regions, Roles, Served, Want

log = logging.getLogger(__name__)

RENDER_THREADS = 4
GOODBYE_SECONDS = 3.0
SIGNED_OUT, NOT_ALLOWED, TOO_MANY = 4401, 4403, 4429
BEAT = event_of({"type": "beat"})
SPEED = {slow: event_of({"type": "speed", "slow": slow}) for slow in (False, True)}


class Floor(Protocol):
    """The reads that the hub needs from the product, always in a thread; blocking calls."""

    def look(
        self, topic: Topic, wanted: Mapping[Roles, Regions], known: Any, memo: dict[str, Any]
    ) -> Look | None:
        """Read and render `wanted`; None when the topic's mark is still `known`.

        `memo` is the topic's own, for what need not be rendered again.
        """

    def marks(self, topics: Iterable[Topic]) -> Mapping[Topic, Any]:
        """The mark of each topic as it is now; a mark changes with everything a page shows."""

    def readers(self, keys: Iterable[str]) -> Mapping[str, Reader]:
        """The reader behind each key of a login, without those who may no longer enter."""


class Hub:
    """The sockets of this process, the topics they follow, and the tasks that keep them fresh."""

    def __init__(self, floor: Floor, *, poll_seconds: float, recheck_seconds: float) -> None:
        self.floor = floor
        self.poll_seconds, self.recheck_seconds = poll_seconds, recheck_seconds
        self.members: set[Member] = set()
        self.served: dict[Topic, Served] = {}
        self._by_thread: dict[UUID, set[Topic]] = defaultdict(set)
        self._trees: set[Topic] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._threads = ThreadPoolExecutor(RENDER_THREADS, thread_name_prefix="hub")
        self._stopping = False
        self.slow = False
        self.followers = Followers()

    # --- tasks -----------------------------------------------------------------------------------
    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task that the hub keeps alive and ends with itself."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def in_thread[T](self, call: Callable[..., T], *args: Any) -> T:
        """Let one of the hub's few threads do a blocking call."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *args)

    async def _look(
        self, topic: Topic, wanted: Mapping[Roles, Regions], known: Any, memo: dict[str, Any]
    ) -> Look | None:
        return await self.in_thread(self.floor.look, topic, wanted, known, memo)

    def start(self) -> None:
        """Begin to poll and to check logins again."""
        self.spawn(self._poll())
        self.spawn(self._recheck())

    async def stop(self) -> None:
        """End all tasks and threads; sockets are the server's to close."""
        self._stopping = True
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    # --- sockets ---------------------------------------------------------------------------------
    def sockets_of(self, key: str) -> int:
        """Count the sockets of one login that are open here."""
        return sum(member.key == key for member in self.members)

    def enter(self, member: Member) -> None:
        """A socket has come."""
        self.members.add(member)
        if self.slow:
            member.outbox.offer("speed", SPEED[True])

    def slow_down(self, slow: bool) -> None:
        """Hints stop, or come again: pages learn that news is found by polling only."""
        if slow is not self.slow:
            self.slow = slow
            for member in tuple(self.members):
                member.outbox.offer("speed", SPEED[slow])

    def join(self, member: Member, wants: Mapping[Topic, Want]) -> None:
        """The socket follows exactly these topics from now on."""
        if member not in self.members:
            return
        self._let_go(member)
        member.wants = dict(wants)
        for topic, want in wants.items():
            served = self.served.get(topic)
            if served is None:
                served = self.served[topic] = Served(topic, self._look, self.spawn)
                if topic.thread is not None:
                    self._by_thread[topic.thread].add(topic)
                self._trees.update({topic} if topic.kind == FAMILY else ())
            served.add(member, want)

    def leave(self, member: Member) -> None:
        """The socket is gone."""
        self.members.discard(member)
        self._let_go(member)

    def _let_go(self, member: Member) -> None:
        for topic in member.wants:
            served = self.served.get(topic)
            if served is not None and served.drop(member):
                del self.served[topic]
                self._trees.discard(topic)
                if topic.thread is not None:
                    self._by_thread[topic.thread].discard(topic)
                    if not self._by_thread[topic.thread]:
                        del self._by_thread[topic.thread]
        member.wants = {}

    def close(self, member: Member, code: int, reason: str) -> None:
        """Send the reason, close the socket, and let it see nothing more from now on."""
        self.leave(member)
        goodbye = [
            event_of({"type": "closed", "reason": reason}),
            {"type": "websocket.close", "code": code},
        ]
        self.spawn(self._goodbye(member.outbox, goodbye))

    async def _goodbye(self, outbox: Outbox, events: list[Event]) -> None:
        try:
            await asyncio.wait_for(outbox.finish(events), GOODBYE_SECONDS)
        except Exception:
            log.debug("A socket did not take its goodbye", exc_info=True)

    # --- news ------------------------------------------------------------------------------------
    def hint(self, thread: UUID, workspace: UUID, seq: int, *, again: bool = False) -> None:
        """Something about a thread is new: look at every topic that may show it.

        `again` says that its pages show something new that is no event of its own.
        """
        self.followers.wake(thread)
        for topic in lists_of(thread, workspace):
            if served := self.served.get(topic):
                served.poke()
        for topic in self._trees:  # of a thread without relatives the mark is empty
            if topic.workspace == workspace and self.served[topic].mark:
                self.served[topic].poke()
        for topic in self._by_thread.get(thread, ()):
            served = self.served[topic]
            if topic.workspace != workspace:
                continue
            if again or topic.kind in AT_EVERY_HINT or served.seq < seq:
                served.poke(afresh=again)

    def progress(self, thread: UUID, workspace: UUID, progress: Mapping[str, Any]) -> None:
        """Hand on how far a thread is; no read, no rendering, no history."""
        for topic in self._by_thread.get(thread, ()):
            if topic.kind != "thread" or topic.workspace != workspace:
                continue
            event = event_of({"type": "progress", "topic": topic.name, **progress})
            for member in self.served[topic].members():
                member.outbox.offer(f"progress {topic.name} {progress.get('node', '')}", event)

    async def look_round(self) -> None:
        """Read the heads of all topics once and look at those that moved."""
        topics = tuple(self.served)
        if not topics:
            return
        marks = await self.in_thread(self.floor.marks, topics)
        for topic, mark in marks.items():
            served = self.served.get(topic)
            if served is not None and served.mark != mark:
                served.poke()

    async def watch(self) -> None:
        """Look round, and show all sockets that they are watched: their pages need not ask."""
        await self.look_round()
        for member in tuple(self.members):
            member.outbox.offer("beat", BEAT)

    async def check_readers(self, only: Callable[[str], bool] = bool) -> None:
        """Close the sockets of those who signed out, and use new roles of those who stay."""
        keys = {member.key for member in self.members if only(member.key)}
        if not keys:
            return
        readers = await self.in_thread(self.floor.readers, keys)
        for member in tuple(self.members):
            if member.key not in keys:
                continue  # came while we looked
            reader = readers.get(member.key)
            if reader is None:
                self.close(member, SIGNED_OUT, "You are signed out.")
            elif reader.workspace != member.reader.workspace:
                why = "You are in another workspace now, or your access to this one has ended."
                self.close(member, NOT_ALLOWED, why)
            elif not reader.roles:
                self.close(member, NOT_ALLOWED, "Your access to this workspace has ended.")
            elif reader.roles != member.reader.roles:
                member.reader = reader
                # The same page with other buttons: all of it, whatever its number.
                wants = member.wants.items()
                self.join(member, {t: Want(w.regions, inflates=w.inflates) for t, w in wants})
            else:
                member.reader = reader

    async def _poll(self) -> None:
        # Somewhat earlier than the pages' own poll, which so needs to happen only without us.
        await self._every(self.poll_seconds * 0.8, self.watch, "look at the heads")

    async def _recheck(self) -> None:
        await self._every(self.recheck_seconds, self.check_readers, "check logins")

    async def _every(
        self, seconds: float, work: Callable[[], Coroutine[Any, Any, None]], name: str
    ) -> None:
        failing = False
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()
                failing = False
            except Exception:
                if not failing:
                    log.exception("Could not %s; trying again", name)
                failing = True
