"""Following a thread with a token: a stream of events, a call that waits, and an unchanged one."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from queue import Queue
from typing import Any, Final

import httpx
import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from checkpoints import queries, store
from dashboard.identity import tokens
from tests.conftest import real_database
from tests.faults.embedded.helpers import wait_until
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.live.following import LATE, LiveThread, Server, started


@pytest.fixture(scope="module")
def house(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[tuple[Any, ...]]:
    """One server for all tests here; only hints can move it: its poll comes after ten minutes."""
    with django_db_blocker.unblock(), real_database("gatepost_test_streams"):
        cast, agent = make_cast(), scene.make_agent()
        scene.alive(agent)
        with started(600) as server:
            yield server, cast, agent


@pytest.fixture
def live(house: tuple[Server, Cast, Any]) -> LiveThread:
    return LiveThread(*house)


# No certificates are read: 120 clients at once would do nothing else.
PLAIN: Final[dict[str, Any]] = {"timeout": 60, "trust_env": False, "verify": False}


class Caller:
    """A program with a token."""

    def __init__(self, live: LiveThread, who: str = "operator", **more: Any) -> None:
        _, self.token = tokens.make(live.cast.users[who], made_by="test", **more)
        self.url = f"{live.server.origin}/api/v1/threads/{live.thread}/"

    def get(self, path: str = "", **headers: str) -> httpx.Response:
        sent = {"Authorization": f"Bearer {self.token}", **headers}
        return httpx.get(f"{self.url}{path}", headers=sent, **PLAIN)

    @contextmanager
    def answer(self, path: str, **headers: str) -> Iterator[httpx.Response]:
        """An answer from the moment on at which it begins."""
        sent = {"Authorization": f"Bearer {self.token}", **headers}
        with httpx.stream("GET", f"{self.url}{path}", headers=sent, **PLAIN) as response:
            assert response.status_code == 200, response.read()
            yield response

    @contextmanager
    def stream(self, path: str = "events/", **headers: str) -> Iterator[Iterator[dict[str, str]]]:
        with self.answer(path, Accept="text/event-stream", **headers) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            yield messages(response.iter_lines())


def messages(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    """The messages of a stream that carry data."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield fields
            fields = {}


@pytest.mark.slow
def test_events_come_as_they_are_committed_and_go_on_where_a_client_was(live: LiveThread) -> None:
    caller = Caller(live)
    with caller.stream() as stream:
        first = next(stream)
        assert (first["id"], first["event"]) == ("1", "thread.started")
        assert json.loads(first["data"])["seq"] == 1
        began = time.monotonic()
        live.pause()
        paused = next(stream)
        assert paused["event"] == "thread.paused"
        assert time.monotonic() - began < LATE  # by the hint: the poll comes after ten minutes
    live.resume()
    live.pause()
    with caller.stream(**{"Last-Event-ID": paused["id"]}) as stream:
        again = [next(stream) for _ in range(2)]
    assert [int(m["id"]) for m in again] == [3, 4]
    assert [m["event"] for m in again] == ["thread.resumed", "thread.paused"]


@pytest.mark.slow
def test_a_long_past_comes_whole_in_order_and_by_kind(live: LiveThread) -> None:
    for turn in range(450):
        live.turn(turn)
    with Caller(live).stream() as stream:
        seqs = [int(next(stream)["id"]) for _ in range(451)]
    assert seqs == list(range(1, 452))
    with Caller(live).stream("events/?kind=thread.resumed&after=400") as stream:
        kinds = {next(stream)["event"] for _ in range(20)}
    assert kinds == {"thread.resumed"}


@pytest.mark.slow
def test_a_stream_ends_when_its_token_is_revoked(live: LiveThread) -> None:
    caller = Caller(live)
    with caller.stream() as stream:
        next(stream)
        tokens.revoke(caller.token.split("_")[1], by="test")
        time.sleep(1.1)  # the server looks at rights again each second
        live.pause()
        seen = [m["event"] for m in stream]
    assert seen[-1] == "closed"
    assert "thread.paused" not in seen


@pytest.mark.nightly
def test_streams_and_waits_hold_no_connection_and_no_thread(live: LiveThread) -> None:
    """Many more than there are connections, all told of the same event."""
    many = 60
    caller = Caller(live)
    version = queries.thread(live.thread, workspace=live.cast.workspace).version
    begun: Queue[str] = Queue()
    with ThreadPoolExecutor(2 * many) as pool:
        waits = [pool.submit(status_after, Caller(live), version, begun.put) for _ in range(many)]
        streams = [pool.submit(second_event, Caller(live), begun.put) for _ in range(many)]
        assert Counter(begun.get(timeout=60) for _ in range(2 * many)) == {
            "wait": many,
            "stream": many,
        }
        # Each second the server looks at rights again; between that none of them is at work.
        wait_until(lambda: connections_at_work() == 0, seconds=LATE, what="a quiet moment")
        assert caller.get().status_code == 200  # others are served meanwhile
        live.pause()
        assert {future.result(30) for future in streams} == {"thread.paused"}
        assert {future.result(30) for future in waits} == {"paused"}


def connections_at_work() -> int:
    """How many connections to this database are in a statement or in a transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND state <> 'idle' AND pid <> pg_backend_pid()"
        )
        (count,) = cursor.fetchone()
    return int(count)


def status_after(caller: Caller, version: int, begun: Callable[[str], None]) -> str:
    """The status of the thread once its version is another one."""
    with caller.answer("?wait=25", **{"If-None-Match": f'"{version}"'}) as response:
        begun("wait")
        return str(json.loads(response.read())["status"])


def second_event(caller: Caller, begun: Callable[[str], None]) -> str:
    with caller.stream() as stream:
        next(stream)
        begun("stream")
        return next(stream)["event"]


def test_a_wait_without_news_answers_the_same_version(live: LiveThread) -> None:
    caller = Caller(live)
    before = caller.get()
    began = time.monotonic()
    after = caller.get("?wait=1")
    assert after.json()["version"] == before.json()["version"]
    assert time.monotonic() - began >= 1
    # News that came before the call is answered at once.
    live.pause()
    began = time.monotonic()
    moved = caller.get("?wait=30", **{"If-None-Match": before.headers["ETag"]})
    assert (moved.status_code, moved.json()["status"]) == (200, "paused")
    assert time.monotonic() - began < LATE


def test_an_unchanged_thread_is_304(live: LiveThread) -> None:
    caller = Caller(live)
    tag = caller.get().headers["ETag"]
    same = caller.get(**{"If-None-Match": tag})
    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", tag)
    live.pause()
    other = caller.get(**{"If-None-Match": tag})
    assert other.status_code == 200
    assert other.headers["ETag"] != tag


@pytest.mark.slow
def test_what_cannot_be_followed_is_refused_before_the_stream_begins(live: LiveThread) -> None:
    caller = Caller(live)
    stream = {"Accept": "text/event-stream"}
    assert caller.get("events/", **stream, **{"Last-Event-ID": "x"}).status_code == 400
    assert caller.get("events/?after=-1", **stream).status_code == 422
    assert caller.get("?wait=61").status_code == 422
    assert caller.get("?wait=x").status_code == 422
    assert caller.get("", **{"If-None-Match": "x"}).status_code == 400
    other = Caller(live, "stranger") if "stranger" in live.cast.users else None
    if other is not None:
        assert other.get("events/", **stream).status_code in (403, 404)
    expired = Caller(live, expires_in=timedelta(seconds=1))
    time.sleep(1.2)
    assert expired.get("events/", **stream).status_code == 401


def test_a_thread_of_nobody_has_no_stream(live: LiveThread) -> None:
    caller = Caller(live)
    caller.url = caller.url.replace(str(live.thread), "01890a5d-ac96-774b-bcce-b302099a8057")
    assert caller.get("events/", Accept="text/event-stream").status_code == 404


@pytest.mark.slow
def test_the_store_is_untouched(live: LiveThread) -> None:
    """Reading writes nothing."""
    before = queries.thread(live.thread, workspace=live.cast.workspace).last_seq
    caller = Caller(live)
    caller.get("?wait=1")
    with caller.stream() as stream:
        next(stream)
    assert queries.thread(live.thread, workspace=live.cast.workspace).last_seq == before
    store.pause(live.thread, actor="user:1")
