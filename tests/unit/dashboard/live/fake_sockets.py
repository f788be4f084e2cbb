"""A hub over a thread that only has a number and a text, and sockets that note what they get."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from dashboard.live.frames import Event, Outbox
from dashboard.live.hub import Hub
from dashboard.live.marks import region_mark
from dashboard.live.served import Look, Member, Regions, Roles, Want
from dashboard.wire.topics import Topic

WORKSPACE, THREAD = uuid4(), uuid4()
TOPIC = Topic("thread", WORKSPACE, THREAD, THREAD)
OPERATOR, REVIEWER = frozenset({"operator"}), frozenset({"reviewer"})
HEAD = frozenset({"thread-head"})


@dataclass
class Person:
    """Somebody with roles."""

    roles: Roles = OPERATOR
    workspace: UUID = WORKSPACE


@dataclass
class FakeFloor:
    """A thread that has a number and a text, and counts who looked."""

    seq: int = 1
    text: str = "one"
    looks: list[dict[Roles, Regions]] = field(default_factory=list)
    cost: float = 0.0
    broken: bool = False
    whole_mark: bool = True  # False: as a board's, whose hints may tell of more than its mark
    people: dict[str, Person] = field(default_factory=dict)

    def look(
        self, topic: Topic, wanted: Mapping[Roles, Regions], known: Any, memo: dict[str, Any]
    ) -> Look | None:
        if self.broken:
            raise RuntimeError("no database")
        if known == self.seq and self.whole_mark:
            return None
        seq, text = self.seq, self.text
        self.looks.append(dict(wanted))
        time.sleep(self.cost)
        html = {
            roles: {r: f"{r} {text} for {','.join(roles)}" for r in regions}
            for roles, regions in wanted.items()
        }
        for pages in html.values():
            if "thread-plan" in pages:
                pages["thread-plan"] = "always the same"
        return Look(seq, seq, html)

    def marks(self, topics: Iterable[Topic]) -> Mapping[Topic, Any]:
        return dict.fromkeys(topics, self.seq)

    def readers(self, keys: Iterable[str]) -> Mapping[str, Person]:
        return {key: self.people[key] for key in keys if key in self.people}

    def move(self, text: str) -> int:
        self.seq += 1
        self.text = text
        return self.seq


class Socket:
    """The other end: what arrived, and a gate that can be shut."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.closed = 0
        self.open = asyncio.Event()
        self.open.set()
        self.broken = False

    async def send(self, event: Event) -> None:
        await self.open.wait()
        if self.broken:
            raise RuntimeError("gone")
        if event["type"] == "websocket.close":
            self.closed = event["code"]
        else:
            self.got.append(json.loads(event["text"]))

    def frames(self) -> list[dict[str, Any]]:
        return [message for message in self.got if message["type"] == "frame"]


@dataclass
class Bench:
    """A hub over that thread, and sockets that enter it."""

    hub: Hub
    floor: FakeFloor

    def enter(
        self,
        *,
        seq: int = 0,
        regions: frozenset[str] = HEAD,
        roles: Roles = OPERATOR,
        key: str = "k",
        brought: Mapping[str, str] | None = None,
    ) -> tuple[Socket, Member]:
        """A socket of a page with this number that has `brought` these regions."""
        socket = Socket()
        member = Member(key, Person(roles), Outbox(socket.send))
        self.hub.enter(member)
        marks = {region: region_mark(html) for region, html in (brought or {}).items()}
        self.hub.join(member, {TOPIC: Want(regions, seq, marks=marks)})
        return socket, member

    def hint(self) -> None:
        self.hub.hint(THREAD, WORKSPACE, self.floor.seq)


async def until(true: Callable[[], Any], seconds: float = 30.0) -> None:
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit, "waited too long"
        await asyncio.sleep(0.005)
