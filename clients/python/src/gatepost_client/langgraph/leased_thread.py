"""One thread of LangGraph on Gatepost: found by name, read, held by a lease, reported to."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from ..record.turn import wait_for_turn
from ..wire import api
from ..wire.errors import ClientError, Ended, LeaseLost, Refused
from ..wire.flow import Flow, Sleep
from ..wire.settings import Settings
from .record import ROOT, Record

Json = dict[str, Any]
SHORT_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)


class Outdated(ClientError):
    """Somebody else has gone on with the thread since it was read; read it again."""


class Taken(ClientError):
    """This process no longer has the right to work on the thread: another one has, or a person."""


@dataclass
class LeasedThread:
    """A thread as this process has read it, and its lease while it works on it."""

    name: str
    agent: str
    settings: Settings
    announced: Json
    thread: str = ""
    record: Record = field(default_factory=Record)
    now: Json = field(default_factory=dict)
    under: api.LeaseApi = field(default_factory=lambda: api.LeaseApi("", ""))
    # A helper takes and leaves the thread; else it is left when the graph has nothing to do.
    is_held: bool = False
    idle_since: float | None = None
    leaving: str = ""
    # Checkpoints of the root that were read as the newest, and those that were read by their id.
    served: set[str | None] = field(default_factory=set)
    chosen: set[str | None] = field(default_factory=set)
    # Writes to checkpoints that are not committed yet, in their order.
    waiting: dict[tuple[str, str], list[Json]] = field(default_factory=dict)

    # ---- reading ---------------------------------------------------------------------------------

    def find(self) -> Flow[bool]:
        """Look for the thread by name, else by its id at Gatepost; return whether there is one."""
        if self.thread:
            return True
        thread = yield from api.find_thread(self.agent, self.name)
        if thread is None and _is_id(self.name):
            try:
                thread = yield from api.read_thread(self.name)
            except Refused as error:
                if error.status != 404:
                    raise
        if thread is None:
            return False
        self._become(str(thread["id"]))
        return True

    def _become(self, thread: str) -> None:
        self.thread = thread
        self.under = api.LeaseApi(thread, "")

    def refresh(self) -> Flow[bool]:
        """Read what the record has gained; under the lease nobody else adds to it."""
        if self.under.token:
            return True
        if not (yield from self.find()):
            return False
        yield from self.read_pages()
        return True

    def read_pages(self) -> Flow[None]:
        """Read the record from the newest known checkpoint on, whose writes may be new."""
        start: int | None = self.record.next_number
        while start is not None:
            page = yield from api.read_record(self.thread, start)
            self.record.take_page(page)
            self.now = page["thread"]
            start = page["next_cursor"]
        depth = 0
        while (base := self.record.base) is not None:
            self.record.base, depth = None, depth + 1
            yield from self._read_base(*base, depth)

    def _read_base(self, thread: str, last: int, depth: int) -> Flow[None]:
        """Read the past that a fork shares with its base."""
        start: int | None = 0
        while start is not None and start <= last:
            page = yield from api.read_record(thread, start)
            self.record.take_base_page(page, last, depth)
            start = page["next_cursor"]

    # ---- the lease -------------------------------------------------------------------------------

    def acquire(self) -> Flow[None]:
        """Take the lease, and the thread with it where there is none yet; reads what is new."""
        self.idle_since = None
        if self.under.token:
            return
        self.hold((yield from self._take()))
        if self.now["head"] != self.record.head or self.now["seq"] > self.record.seq + 1:
            yield from self.read_pages()

    def hold(self, lease: Json) -> None:
        """Work under a lease that was just taken."""
        self.under.token = lease["token"]
        self.now = lease["thread"]

    def _take(self) -> Flow[Json]:
        """Take the lease, waiting a little for another writer before settling down to wait."""
        body = {"agent": self.agent, "name": self.name, "external": self.announced}
        if not (yield from self.find()):
            self._become(str((yield from api.start_thread(body))["id"]))
        for pause in SHORT_PAUSES:
            try:
                return (yield from self._take_now())
            except Refused as error:
                if error.code == "not-allowed-now":
                    break
                if error.code != "leased":
                    raise
            yield Sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - not a secret
        if self.name != self.thread:
            yield from api.start_thread(body)  # continues it where the token may say so
        try:
            return (yield from self.wait_for_turn())
        except Ended as error:
            raise Taken(f"The thread is {error.status}: start another one, or fork it.") from error

    def _take_now(self) -> Flow[Json]:
        seconds = self.settings.lease_seconds
        return api.take_lease(self.thread, owner=self.settings.owner, seconds=seconds)

    def wait_for_turn(self) -> Flow[Json]:
        """Wait for the lease; raises Waiting, Ended and Cancelled."""
        return wait_for_turn(self.thread, self.settings)

    def renew(self) -> Flow[None]:
        """Prolong the lease while it is needed; leave the thread once it has been idle."""
        if not self.under.token:
            return
        if self.is_idle:
            if time.monotonic() >= (self.idle_since or 0):
                yield from self.leave(reason=self.leaving)
            return
        token = self.under.token
        try:
            answer = yield from self.under.renew(self.settings.lease_seconds)
        except Refused as error:
            if error.code == "lease-lost" and self.under.token == token:
                self.under.token = ""
        else:
            self.now["wish"] = answer["thread"]["wish"]

    def leave(self, status: str = "queued", reason: str = "") -> Flow[None]:
        """Give the lease back; queued, the thread waits for the next that invokes the graph."""
        if not self.under.token:
            return
        self.idle_since = None
        try:
            answer = yield from self.under.release(status, reason)
            self.record.seq = answer["thread"]["seq"]
        except Refused as error:
            if error.code != "lease-lost":
                raise
        finally:
            self.under.token = ""

    @property
    def is_idle(self) -> bool:
        """Return whether the graph seems to have stopped and only the saver holds the thread."""
        return self.idle_since is not None and not self.is_held

    def settle(self, seconds: float, reason: str) -> None:
        """Note that the graph seems to have stopped: the lease goes after these seconds."""
        self.leaving = reason[:500]
        self.idle_since = time.monotonic() + seconds

    # ---- reporting -------------------------------------------------------------------------------

    def report(self, flow: Flow[Json]) -> Flow[Json]:
        """A report under the lease; raises Taken where it is lost."""
        try:
            answer = yield from flow
        except Refused as error:
            if error.code != "lease-lost":
                raise
            self.under.token = ""
            raise Taken(error.detail) from error
        self.now = answer["thread"]
        self.record.seq = answer["thread"]["seq"]
        return answer

    def check_parent(self, parent: str | None) -> None:
        """Refuse to continue from a checkpoint that was the newest when read and is not now."""
        latest = self.record.latest(ROOT)
        newest = None if latest is None else latest.id
        if parent != newest and parent in self.served and parent not in self.chosen:
            raise Outdated(
                "Somebody else has gone on with this thread since it was read. Read it again."
            )


def lease_lost(error: ClientError) -> LeaseLost:
    """The same for a helper: it ends the work of this process."""
    return LeaseLost(str(error))


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
