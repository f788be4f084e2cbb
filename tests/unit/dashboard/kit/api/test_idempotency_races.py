"""Twenty same calls at once under one key: done once, answered alike, on real connections."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from django.db import connection, connections
from django.test import Client
from websockets.sync.client import connect
from websockets.typing import Origin

from checkpoints import queries
from checkpoints.models import Event, Thread
from checkpoints.signals import thread_queued
from checkpoints.states import Status
from dashboard.identity import tokens
from dashboard.models import IdempotencyKey
from dashboard.threads import thread_list as api_threads
from tests.faults.web import Web
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.calls import V1, post, refused
from tests.unit.dashboard.kit.api.test_idempotency import REPLAYED, START

AT_ONCE = 20
ROUNDS = 5


@pytest.fixture
def house(real_db: str) -> tuple[Cast, UUID]:
    """The cast and an agent in a database that commits for real."""
    return make_cast(), scene.make_agent()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield pool


def bearer(cast: Cast, name: str) -> Client:
    scopes = ["decide"] if name == "manager" else None
    made = tokens.make(cast.users[name], made_by="test", scopes=scopes)[1]
    return Client(headers={"Authorization": f"Bearer {made}"})


def at_once(pool: ThreadPoolExecutor, ask: Callable[[], Any]) -> list[Any]:
    """The answers of calls that start together, each on a connection of its own."""
    start = threading.Barrier(AT_ONCE)

    def one(_: int) -> Any:
        start.wait(10)
        try:
            return ask()
        finally:
            connections.close_all()

    return list(pool.map(one, range(AT_ONCE)))


def all_alike(answers: list[Any], status: int) -> Any:
    """Every answer has this status and the same bytes; all but one are marked as repeated."""
    assert Counter(a.status_code for a in answers) == {status: AT_ONCE}
    assert len({a.content for a in answers}) == 1
    assert len({(a.headers.get("Location"), a.headers["ETag"]) for a in answers}) == 1
    assert sum(REPLAYED in a.headers for a in answers) == AT_ONCE - 1
    return answers[0].json()


@pytest.mark.slow
def test_twenty_starts_start_one_thread(house: tuple[Cast, UUID], pool: ThreadPoolExecutor) -> None:
    script = bearer(house[0], "operator")
    for n in range(1, ROUNDS + 1):
        key = {"Idempotency-Key": f"start {n}"}
        made = all_alike(at_once(pool, partial(post, script, "/threads/", START, **key)), 201)
        assert Thread.objects.count() == IdempotencyKey.objects.count() == n
        assert made["last_seq"] == Event.objects.filter(thread_id=made["id"]).count() == 1


@pytest.mark.slow
def test_twenty_forks_fork_once(house: tuple[Cast, UUID], pool: ThreadPoolExecutor) -> None:
    cast, agent = house
    row = scene.waiting(cast.workspace, agent)
    head = str(queries.thread(row.thread, workspace=cast.workspace).head)
    script = bearer(cast, "operator")
    for n in range(1, ROUNDS + 1):
        ask = partial(
            post,
            script,
            f"/threads/{row.thread}/fork/",
            {"checkpoint": head, "title": f"What if {n}"},
            **{"Idempotency-Key": f"fork {n}"},
        )
        made = all_alike(at_once(pool, ask), 201)
        forks = Thread.objects.filter(base=row.thread)
        assert forks.count() == n
        assert forks.filter(id=made["id"], title=f"What if {n}").exists()


def test_twenty_decisions_decide_once(house: tuple[Cast, UUID], pool: ThreadPoolExecutor) -> None:
    cast, agent = house
    script = bearer(cast, "manager")
    for n in range(ROUNDS):
        row = scene.waiting(cast.workspace, agent)
        body = {"verdict": "approve", "proposal_hash": row.proposal_hash}
        path = f"/approvals/{row.id}/decide/"
        answers = at_once(
            pool, partial(post, script, path, body, **{"Idempotency-Key": f"decide {n}"})
        )
        assert Counter(a.status_code for a in answers) == {200: AT_ONCE}
        assert len({a.content for a in answers}) == 1
        assert sum(REPLAYED in a.headers for a in answers) == AT_ONCE - 1
        decided = Event.objects.filter(thread_id=row.thread, kind="approval.decided")
        assert decided.count() == 1
        assert queries.thread(row.thread, workspace=cast.workspace).status == Status.QUEUED


def test_without_a_key_they_are_twenty(house: tuple[Cast, UUID], pool: ThreadPoolExecutor) -> None:
    """What the key is for; and proof that the calls of this file truly meet."""
    script = bearer(house[0], "operator")
    answers = at_once(pool, partial(post, script, "/threads/", START))
    assert len({a.json()["id"] for a in answers}) == Thread.objects.count() == AT_ONCE


def test_when_the_first_fails_another_takes_the_key(
    house: tuple[Cast, UUID], pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five calls fail after their change; the key goes from hand to hand until one succeeds."""
    script = bearer(house[0], "operator")
    script.raise_request_exception = False
    whole, lock, left = api_threads.detail, threading.Lock(), [5]

    def sometimes(*args: Any, **kwargs: Any) -> Any:
        with lock:
            left[0] -= 1
            fails = left[0] >= 0
        if fails:
            raise RuntimeError
        return whole(*args, **kwargs)

    monkeypatch.setattr(api_threads, "detail", sometimes)
    key = {"Idempotency-Key": "k"}
    answers = at_once(pool, partial(post, script, "/threads/", START, **key))
    good = [a for a in answers if a.status_code == 201]
    assert Counter(a.status_code for a in answers) == {500: 5, 201: AT_ONCE - 5}
    assert len({a.content for a in good}) == 1
    assert sum(REPLAYED in a.headers for a in good) == len(good) - 1
    assert Thread.objects.count() == 1


@pytest.mark.slow
def test_a_call_that_takes_long_is_told_to_wait(
    house: tuple[Cast, UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = bearer(house[0], "operator")
    key = {"Idempotency-Key": "k"}
    whole, goes_on = api_threads.detail, threading.Event()
    here = threading.Event()

    def slowly(*args: Any, **kwargs: Any) -> Any:
        here.set()
        assert goes_on.wait(30)
        return whole(*args, **kwargs)

    monkeypatch.setattr(api_threads, "detail", slowly)

    def ask() -> Any:
        try:
            return post(script, "/threads/", START, **key)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask)
        assert here.wait(30)
        began = time.monotonic()
        response = post(script, "/threads/", START, **key)
        assert 2.5 < time.monotonic() - began < 10  # lock_timeout
        problem = refused(response, 409)
        assert problem["type"] == "urn:gatepost:problem:still-working"
        assert response["Retry-After"] == "1"
        goes_on.set()
        made = first.result(30)
    assert made.status_code == 201
    assert post(script, "/threads/", START, **key).content == made.content
    assert Thread.objects.count() == 1


def test_doorbells_ring_when_change_and_answer_are_there(house: tuple[Cast, UUID]) -> None:
    """A worker that looks at once finds the thread; whoever asks again finds the answer."""
    script = bearer(house[0], "operator")
    seen: list[tuple[int, int, bool]] = []

    def look() -> tuple[int, int]:
        try:
            return Thread.objects.count(), IdempotencyKey.objects.filter(status=201).count()
        finally:
            connections.close_all()

    def rung(**_: Any) -> None:
        with ThreadPoolExecutor(1) as other:
            seen.append((*other.submit(look).result(), connection.in_atomic_block))

    thread_queued.connect(rung)
    try:
        assert post(script, "/threads/", START, **{"Idempotency-Key": "k"}).status_code == 201
        assert post(script, "/threads/", START, **{"Idempotency-Key": "k"})[REPLAYED]
    finally:
        thread_queued.disconnect(rung)
    assert seen == [(1, 1, False)]


@pytest.mark.slow
@pytest.mark.hazard
def test_twenty_through_a_real_server(
    house: tuple[Cast, UUID], pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """uvicorn with its pool of 16 connections: fewer than there are calls."""
    cast, _ = house
    web = Web(tmp_path)
    try:
        web.wait_ready()
        with script_of(web, cast) as http:
            for n in range(1, ROUNDS + 1):
                answers = at_once(pool, partial(start, http, f"start {n}"))
                all_alike(answers, 201)
                assert Thread.objects.count() == n
    finally:
        web.kill()


@pytest.mark.slow
@pytest.mark.hazard
def test_a_killed_server_does_nothing_twice(
    house: tuple[Cast, UUID], pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """kill -9 in the middle of 200 calls; all are sent again to the next server."""
    cast, _ = house
    keys = [f"start {n}" for n in range(200)]
    answered: dict[str, bytes] = {}
    first = Web(tmp_path)

    def ask(http: httpx.Client, key: str) -> None:
        try:
            answer = start(http, key)
        except httpx.TransportError:
            return  # nobody knows whether it was done
        assert answer.status_code == 201, answer.text
        answered[key] = answer.content
        if len(answered) == 60:
            first.kill()

    try:
        first.wait_ready()
        with script_of(first, cast) as http:
            list(pool.map(partial(ask, http), keys))
    finally:
        first.kill()
    known = dict(answered)
    done = Thread.objects.count()
    assert 60 <= len(known) <= done < len(keys)
    assert IdempotencyKey.objects.exclude(status=201).count() == 0
    assert IdempotencyKey.objects.count() == done
    second = Web(tmp_path)
    try:
        second.wait_ready()
        with script_of(second, cast) as http:
            again = dict(zip(keys, pool.map(partial(start, http), keys), strict=True))
    finally:
        second.kill()
    assert {a.status_code for a in again.values()} == {201}
    assert sum(REPLAYED in a.headers for a in again.values()) == done
    assert {key: again[key].content for key in known} == known
    assert Thread.objects.count() == len({a.json()["id"] for a in again.values()}) == len(keys)


@pytest.mark.slow
@pytest.mark.hazard
def test_a_token_opens_no_socket(house: tuple[Cast, UUID], tmp_path: Path) -> None:
    cast, _ = house
    made = tokens.make(cast.users["operator"], made_by="test")[1]
    web = Web(tmp_path)
    try:
        web.wait_ready()
        with connect(
            f"{web.address.replace('http', 'ws')}/ws/live/?token={made}",
            origin=Origin(web.address),
            additional_headers={"Authorization": f"Bearer {made}"},
            proxy=None,
        ) as line:
            payload = json.loads(line.recv(20))
            assert (payload["type"], payload["reason"]) == ("closed", "You are signed out.")
    finally:
        web.kill()
    assert made[12:] not in web.log.read_text()


@contextmanager
def script_of(web: Web, cast: Cast) -> Iterator[httpx.Client]:
    """A client of this server with a token of the operator."""
    made = tokens.make(cast.users["operator"], made_by="test")[1]
    limits = httpx.Limits(max_connections=AT_ONCE)
    with httpx.Client(base_url=f"{web.address}{V1}", timeout=30, limits=limits) as http:
        http.headers["Authorization"] = f"Bearer {made}"
        yield http


def start(http: httpx.Client, key: str) -> httpx.Response:
    return http.post("/threads/", json=START, headers={"Idempotency-Key": key})
