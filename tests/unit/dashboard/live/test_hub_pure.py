"""The hub without a server, a database or a Valkey: progress, logins, roles, what is read."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any
from uuid import uuid4

import pytest

from dashboard.board.lanes import shares
from dashboard.live import hub, origins, subscription
from dashboard.live.consumers import BadJoin, read_join
from dashboard.live.hub import NOT_ALLOWED, SIGNED_OUT
from dashboard.live.served import Want
from dashboard.wire import hints
from dashboard.wire.topics import Topic, parse

from .fake_sockets import HEAD, REVIEWER, THREAD, TOPIC, WORKSPACE, Bench, Person, until


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
        with pytest.raises(BadJoin) as error:
            read_join(bad, workspace=WORKSPACE)
        assert not re.search(r"Error|object|attribute|indices|unpack|recursion", str(error.value))


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
