"""The hub without a server, a database or a Valkey: pace, order, rights, slow and gone sockets."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest

from dashboard.live import hub, origins, served, subscription
from dashboard.live.consumers import BadJoin, read_join
from dashboard.live.frames import Event, Outbox
from dashboard.live.hub import NOT_ALLOWED, SIGNED_OUT, Hub
from dashboard.live.served import Look, Member, Regions, Roles, Want
from dashboard.pages.parts.board.lanes import shares
from dashboard.wire import hints
from dashboard.wire.topics import Topic, parse

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
    people: dict[str, Person] = field(default_factory=dict)

    def look(
        self, topic: Topic, wanted: Mapping[Roles, Regions], known: Any, memo: dict[str, Any]
    ) -> Look | None:
        if self.broken:
            raise RuntimeError("no database")
        if known == self.seq:
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
    hub: Hub
    floor: FakeFloor

    def enter(
        self,
        *,
        seq: int = 0,
        regions: frozenset[str] = HEAD,
        roles: Roles = OPERATOR,
        key: str = "k",
    ) -> tuple[Socket, Member]:
        socket = Socket()
        member = Member(key, Person(roles), Outbox(socket.send))
        self.hub.enter(member)
        self.hub.join(member, {TOPIC: Want(regions, seq)})
        return socket, member

    def hint(self) -> None:
        self.hub.hint(THREAD, WORKSPACE, self.floor.seq)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    floor = FakeFloor()
    hub = Hub(floor, poll_seconds=600, recheck_seconds=600)
    hub.start()
    yield Bench(hub, floor)
    await hub.stop()


async def until(true: Callable[[], Any], seconds: float = 3.0) -> None:
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit, "waited too long"
        await asyncio.sleep(0.005)


async def test_a_socket_with_an_old_page_catches_up_at_once(bench: Bench) -> None:
    old, _ = bench.enter(seq=0)
    await until(old.frames)
    frame = old.frames()[0]
    assert (frame["topic"], frame["seq"]) == (f"thread:{THREAD}", 1)
    assert frame["regions"] == {"thread-head": "thread-head one for operator"}
    fresh, _ = bench.enter(seq=1)
    late, _ = bench.enter(seq=0)
    await until(late.frames)
    await asyncio.sleep(0.05)
    assert fresh.got == []
    assert len(bench.floor.looks) == 1  # the others got what was rendered for the first


async def test_one_look_serves_all_sockets_and_rights_classes(bench: Bench) -> None:
    sockets = [bench.enter(seq=1, roles=roles)[0] for roles in (OPERATOR, REVIEWER) * 50]
    await until(lambda: len(bench.floor.looks) >= 1)
    await asyncio.sleep(0.06)
    bench.floor.looks.clear()
    bench.floor.move("two")
    bench.hint()
    await until(lambda: all(s.frames() for s in sockets))
    assert bench.floor.looks == [{OPERATOR: HEAD, REVIEWER: HEAD}]
    texts = {s.frames()[0]["regions"]["thread-head"] for s in sockets}
    assert texts == {"thread-head two for operator", "thread-head two for reviewer"}


async def test_many_hints_are_few_looks_and_the_newest_wins(bench: Bench) -> None:
    socket, _ = bench.enter(seq=1)
    bench.floor.cost = 0.005
    began = time.monotonic()
    for i in range(400):
        bench.floor.move(f"text {i}")
        bench.hint()
        await asyncio.sleep(0.001)
    await until(lambda: socket.frames() and socket.frames()[-1]["seq"] == bench.floor.seq)
    took = time.monotonic() - began
    assert "text 399" in socket.frames()[-1]["regions"]["thread-head"]
    assert 2 <= len(bench.floor.looks) <= took / served.MIN_INTERVAL + 3
    seqs = [frame["seq"] for frame in socket.frames()]
    assert seqs == sorted(seqs)


async def test_dear_looks_slow_the_pace_down(bench: Bench) -> None:
    bench.enter(seq=1)
    bench.floor.cost = 0.1
    began = time.monotonic()
    while time.monotonic() - began < 1.0:
        bench.floor.move("x")
        bench.hint()
        await asyncio.sleep(0.005)
    assert len(bench.floor.looks) <= 5


async def test_an_old_or_doubled_hint_reads_nothing(bench: Bench) -> None:
    socket, _ = bench.enter(seq=0)
    await until(socket.frames)
    for _ in range(5):
        bench.hint()
        bench.hub.hint(uuid4(), WORKSPACE, 99)
        bench.hub.hint(THREAD, uuid4(), 99)  # the same id in another workspace is nobody's
        await asyncio.sleep(0.02)
    assert len(bench.floor.looks) == 1


async def test_frames_carry_what_changed_and_newcomers_get_all(bench: Bench) -> None:
    both = HEAD | {"thread-plan"}
    socket, _ = bench.enter(seq=0, regions=both)
    await until(socket.frames)
    assert set(socket.frames()[0]["regions"]) == both
    bench.floor.move("two")
    bench.hint()
    await until(lambda: len(socket.frames()) == 2)
    assert set(socket.frames()[1]["regions"]) == {"thread-head"}
    late, _ = bench.enter(seq=1, regions=both)
    await until(late.frames)
    assert set(late.frames()[0]["regions"]) == both


async def test_a_page_that_fetches_by_itself_gets_empty_frames(bench: Bench) -> None:
    socket, _ = bench.enter(seq=1, regions=frozenset())
    await asyncio.sleep(0.1)
    assert socket.got == []
    bench.floor.move("two")
    bench.hint()
    await until(socket.frames)
    assert socket.frames()[0]["regions"] == {}


async def test_a_slow_socket_misses_frames_and_ends_with_all_of_the_newest(bench: Bench) -> None:
    both = HEAD | {"thread-plan"}
    slow, member = bench.enter(seq=0, regions=both)
    quick, _ = bench.enter(seq=0, regions=both)
    await until(lambda: slow.frames() and quick.frames())
    slow.open.clear()
    for i in range(8):
        bench.floor.move(f"text {i}")
        began = time.monotonic()
        bench.hint()
        seq = bench.floor.seq
        await until(lambda seq=seq: quick.frames()[-1]["seq"] == seq)
        assert time.monotonic() - began < 0.5
    assert len(member.outbox._waiting) == 1
    assert member.outbox.skipped == 6
    slow.open.set()
    await until(lambda: slow.frames()[-1]["seq"] == bench.floor.seq)
    # Frame, the one in flight, the one that waited: whole, since it stands for seven.
    assert len(slow.frames()) == 3
    assert slow.frames()[-1]["regions"] == {
        "thread-head": "thread-head text 7 for operator",
        "thread-plan": "always the same",
    }


async def test_a_broken_socket_hurts_nobody(bench: Bench) -> None:
    good, _ = bench.enter(seq=0)
    bad, member = bench.enter(seq=0)
    await until(bad.frames)
    bad.broken = True
    left = []
    member.outbox._broken = lambda: left.append(1)
    for i in range(3):
        bench.floor.move(f"text {i}")
        bench.hint()
        await asyncio.sleep(0.08)
    await until(lambda: good.frames()[-1]["seq"] == bench.floor.seq)
    assert left


async def test_a_lost_hint_costs_one_poll(bench: Bench) -> None:
    socket, _ = bench.enter(seq=1)
    await until(lambda: bench.floor.looks)
    bench.floor.move("unheard")
    await bench.hub.watch()
    await until(socket.frames)
    assert "unheard" in socket.frames()[0]["regions"]["thread-head"]
    assert {"type": "beat"} in socket.got
    looks = len(bench.floor.looks)
    await bench.hub.watch()
    await asyncio.sleep(0.1)
    assert len(bench.floor.looks) == looks


async def test_a_failing_look_is_tried_again(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.floor.broken = True
    socket, _ = bench.enter(seq=0)
    await until(lambda: "Could not read" in caplog.text)
    bench.floor.broken = False
    await bench.hub.watch()
    await until(socket.frames)
    assert socket.frames()[0]["seq"] == 1


async def test_the_number_never_goes_back(bench: Bench) -> None:
    socket, _ = bench.enter(seq=0)
    bench.floor.seq = 50
    await until(socket.frames)
    bench.floor.seq, bench.floor.text = 40, "after a failover"
    await bench.hub.watch()
    await until(lambda: len(socket.frames()) == 2)
    assert [f["seq"] for f in socket.frames()] == [50, 50]


async def test_progress_passes_without_a_look(bench: Bench) -> None:
    socket, _ = bench.enter(seq=1)
    await until(lambda: bench.floor.looks)
    looks = len(bench.floor.looks)
    for done in range(20):
        message = {
            "t": str(THREAD),
            "w": str(WORKSPACE),
            "p": {"done": done, "total": 20, "text": "x"},
        }
        subscription.deliver(bench.hub, json.dumps(message).encode())
    progress = [m for m in socket.got if m["type"] == "progress"]
    assert progress[-1] == {
        "type": "progress",
        "topic": f"thread:{THREAD}",
        "done": 19,
        "total": 20,
        "text": "x",
    }
    assert len(progress) == 20
    assert len(bench.floor.looks) == looks


async def test_nonsense_on_the_channel_is_ignored(bench: Bench) -> None:
    for raw in (b"", b"[]", b"{}", b'{"t":1}', b"\xff", b'{"t":"x","w":"y","s":1}', b"null"):
        subscription.deliver(bench.hub, raw)


async def test_signed_out_people_are_told_and_closed(bench: Bench) -> None:
    gone, _ = bench.enter(seq=0, key="gone")
    moved, _ = bench.enter(seq=0, key="moved")
    stays, _ = bench.enter(seq=0, key="stays")
    bench.floor.people = {"stays": Person(), "moved": Person(workspace=uuid4())}
    await until(lambda: gone.frames() and stays.frames() and moved.frames())
    await bench.hub.check_readers()
    await until(lambda: gone.closed and moved.closed)
    assert (gone.closed, moved.closed, stays.closed) == (SIGNED_OUT, NOT_ALLOWED, 0)
    assert gone.got[-1] == {"type": "closed", "reason": "You are signed out."}
    bench.floor.move("secret")
    bench.hint()
    await until(lambda: len(stays.frames()) == 2)
    assert "secret" not in json.dumps(gone.got + moved.got)


async def test_an_ended_login_is_closed_at_once_and_the_database_decides(bench: Bench) -> None:
    gone, _ = bench.enter(seq=0, key="gone")
    stays, _ = bench.enter(seq=0, key="stays")
    other, _ = bench.enter(seq=0, key="other")
    bench.floor.people = {"stays": Person()}
    await until(lambda: gone.frames() and stays.frames() and other.frames())
    marks = [hints.mark_of("gone"), hints.mark_of("stays")]
    subscription.deliver(bench.hub, json.dumps({"out": marks}).encode())
    await until(lambda: gone.closed)
    assert (gone.closed, stays.closed, other.closed) == (SIGNED_OUT, 0, 0)


async def test_somebody_who_does_not_read_is_cut_off_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "GOODBYE_SECONDS", 0.1)
    deaf, member = bench.enter(seq=0, key="gone")
    await until(deaf.frames)
    deaf.open.clear()
    bench.floor.move("two")
    bench.hint()
    await until(lambda: member.outbox._flight is not None)
    await bench.hub.check_readers()
    assert member not in bench.hub.members
    await asyncio.sleep(0.2)
    bench.floor.move("secret")
    bench.hint()
    deaf.open.set()
    await asyncio.sleep(0.2)
    assert "secret" not in json.dumps(deaf.got)


async def test_new_roles_show_other_buttons(bench: Bench) -> None:
    socket, member = bench.enter(seq=0, key="person")
    await until(socket.frames)
    bench.floor.people = {"person": Person(REVIEWER)}
    await bench.hub.check_readers()
    await until(lambda: len(socket.frames()) == 2)
    assert socket.frames()[1]["regions"]["thread-head"] == "thread-head one for reviewer"
    bench.floor.move("two")
    bench.hint()
    await until(lambda: len(socket.frames()) == 3)
    await asyncio.sleep(0.1)
    # Once, for the new roles: it has left the group of the old ones.
    assert [f["regions"]["thread-head"] for f in socket.frames()[2:]] == [
        "thread-head two for reviewer"
    ]
    bench.hub.leave(member)
    assert bench.hub.served == {}


async def test_what_nobody_follows_is_forgotten(bench: Bench) -> None:
    sockets = [bench.enter(seq=0) for _ in range(5)]
    await until(lambda: all(s.frames() for s, _ in sockets))
    for _, member in sockets:
        bench.hub.leave(member)
    assert (bench.hub.served, bench.hub.members, dict(bench.hub._by_thread)) == ({}, set(), {})
    bench.floor.move("two")
    bench.hint()
    await asyncio.sleep(0.05)
    assert len(bench.floor.looks) == 1


def test_topics_have_one_spelling() -> None:
    assert parse(f"thread:{THREAD}", workspace=WORKSPACE) == TOPIC
    assert parse("board", workspace=WORKSPACE).name == "board"
    for name in ("", "thread", "board:1", f"board:{THREAD}", "thread:x", "users", "approval:"):
        with pytest.raises(ValueError):
            parse(name, workspace=WORKSPACE)


def test_joins_are_read_strictly() -> None:
    good = {
        "type": "join",
        "regions": [{"id": "thread-head", "topic": f"thread:{THREAD}"}],
        "topics": {f"thread:{THREAD}": 7, "board": True},
    }
    wants = read_join(json.dumps(good), workspace=WORKSPACE)
    assert wants[TOPIC] == Want(HEAD, 7)
    assert wants[Topic("board", WORKSPACE)] == Want(frozenset(), 0)
    for bad in (
        None,
        "",
        "null",
        "[]",
        "{",
        '{"type":"leave"}',
        json.dumps(good | {"regions": [{"id": "thread-head", "topic": "board"}]}),
        json.dumps(good | {"regions": [{"id": "x", "topic": f"thread:{THREAD}"}]}),
        json.dumps(good | {"regions": [1]}),
        json.dumps(good | {"regions": good["regions"] * 100}),
        json.dumps(good | {"topics": {f"thread:{uuid4()}": 1 for _ in range(20)}}),
        json.dumps(good | {"topics": [1]}),
        json.dumps(good | {"pad": "x" * 40_000}),
        "[" * 32_000,
        "[" * 15_000 + "]" * 15_000,
        '{"type":"join","topics":' + '{"a":' * 6_000,
        '{"type":"join","regions":[{"id":"x","topic":' + "[" * 900 + "]" * 900 + "}]}",
        '{"type":"join","topics":{"board":' + "9" * 5_000 + "}}",
    ):
        with pytest.raises(BadJoin):
            read_join(bad, workspace=WORKSPACE)


@pytest.mark.parametrize(
    ("origin", "host", "scheme", "expected"),
    [
        ("http://localhost:8000", "localhost:8000", "ws", True),
        ("https://localhost", "localhost", "wss", True),
        ("https://localhost:443", "localhost", "wss", True),
        ("http://localhost", "localhost:80", "ws", True),
        ("http://[::1]:8000", "[::1]:8000", "ws", True),
        ("http://localhost:8001", "localhost:8000", "ws", False),
        ("https://localhost:8000", "localhost:8000", "ws", False),
        ("http://127.0.0.1:8000", "localhost:8000", "ws", False),
        ("http://evil.example", "evil.example", "ws", False),
        ("http://localhost.evil.example:8000", "localhost:8000", "ws", False),
        ("http://localhost:8000/", "localhost:8000", "ws", False),
        ("http://user@localhost:8000", "localhost:8000", "ws", False),
        ("http://localhost:99999", "localhost:8000", "ws", False),
        ("null", "localhost:8000", "ws", False),
        ("", "localhost:8000", "ws", False),
        ("https://gate.example.org", "internal:8000", "ws", True),
        ("https://a.apps.example.org", "internal:8000", "ws", True),
        ("https://apps.example.org", "internal:8000", "ws", False),
        ("http://gate.example.org", "internal:8000", "ws", False),
    ],
)
def test_origins_are_checked_whole(
    settings: Any, origin: str, host: str, scheme: str, expected: bool
) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://gate.example.org", "https://*.apps.example.org"]
    headers = [(b"host", host.encode())] + ([(b"origin", origin.encode())] if origin else [])
    assert origins.allowed({"scheme": scheme, "headers": headers}) is expected


def test_lanes_share_the_rows_of_a_board() -> None:
    from checkpoints.states import Status as S

    assert shares({S.ATTENTION: 2, S.RUNNING: 5}) == {S.ATTENTION: 2, S.RUNNING: 5}
    value = shares({S.ATTENTION: 50, S.WAITING: 50, S.RUNNING: 50}, rows=20, least=3, fair=10)
    assert value == {S.ATTENTION: 10, S.WAITING: 7, S.RUNNING: 3}
    # One lane does not take what another needs: the seen case had 45 waiting above 11 failed.
    value = shares({S.WAITING: 45, S.FAILED: 11})
    assert value == {S.WAITING: 20, S.FAILED: 10}
    assert shares(dict.fromkeys(S, 90))[S.CANCELLED] == 3
