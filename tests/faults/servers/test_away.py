"""PostgreSQL away, full or locked, Valkey away: what a web process answers, and that it heals."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from uuid import UUID

import httpx
import psycopg
import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

from checkpoints import queries
from tests.faults.bench import wait_until

from .own_servers import POOL, Ground, own_ground, unavailable

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
HEALED = 10.0  # seconds until it works again once its servers are back
FROZEN_SECONDS = 4.0  # for twelve requests at once that each lose a doorbell


@pytest.fixture(scope="module")
def ground(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ground]:
    with own_ground(django_db_blocker, tmp_path_factory.mktemp("away")) as made:
        yield made


def at_once(*requests: Callable[[], httpx.Response]) -> list[httpx.Response]:
    """The answers to requests of several people: each waits for a connection as long as it may."""
    with ThreadPoolExecutor(len(requests)) as people:
        return [one.result() for one in [people.submit(ask) for ask in requests]]


def works_again(ground: Ground, http: httpx.Client) -> None:
    """Reading and writing, within the time, without a restart of anything."""
    wait_until(
        lambda: http.get("/api/v1/threads/counts/").status_code == 200,
        seconds=HEALED,
        what=ground.web.log.read_text,
    )
    made = ground.start(http, folder=str(ground.folder), script=[[["look", "first"]]])
    assert made.status_code == 201, made.text
    wait_until(lambda: ground.status(made.json()["id"]) == "succeeded", seconds=HEALED)


def test_the_database_goes_away_and_comes_back(ground: Ground) -> None:
    cookie = {"sessionid": ground.cast.client("operator").cookies["sessionid"].value}
    with ground.http() as http, httpx.Client(base_url=ground.web.address, timeout=20) as browser:
        browser.cookies.update(cookie)
        works_again(ground, http)
        assert browser.get("/").status_code == 200
        connections.close_all()
        ground.postgres.stop()
        try:
            listed, started, *pages = at_once(
                lambda: http.get("/api/v1/threads/"),
                lambda: ground.start(http, folder="x", script=[]),
                *(partial(browser.get, path) for path in ("/", "/api/docs/")),
            )
            unavailable(listed)
            unavailable(started)
            for page in pages:
                assert page.status_code == 503
                assert page.headers["content-type"].startswith("text/html")
                assert int(page.headers["retry-after"]) > 0
                assert "Temporarily unavailable" in page.text
                assert "content-security-policy" in page.headers
            assert browser.get("/healthz").status_code == 200
            ready = browser.get("/readyz")
            assert (ready.status_code, ready.json()["database"]) == (503, "down")
        finally:
            ground.postgres.start()
            ground.postgres.wait()
        works_again(ground, http)
        assert browser.get("/").status_code == 200


def test_there_is_no_room_for_another_connection(ground: Ground) -> None:
    with ground.http() as http, ExitStack() as guests:
        works_again(ground, http)
        connections.close_all()
        with closing(ground.session()) as killer:
            killer.autocommit = True
            taken = 0
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                killer.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name LIKE 'gatepost-%'"
                )
                try:
                    while True:
                        guests.enter_context(closing(ground.session()))
                        taken += 1
                except psycopg.OperationalError:
                    # One that ends is no longer listed before its place is free: count the places.
                    rest = killer.execute(
                        "SELECT count(*) FILTER (WHERE application_name LIKE 'gatepost-%'), "
                        "count(*) = current_setting('max_connections')::int "
                        "FROM pg_stat_activity WHERE backend_type = 'client backend'"
                    ).fetchone()
                    if rest == (0, True):
                        break
            assert taken > 10
            for answer in at_once(
                lambda: http.get("/api/v1/threads/"),
                lambda: ground.start(http, folder="x", script=[]),
            ):
                unavailable(answer)
            guests.close()
        works_again(ground, http)


def test_all_connections_of_the_pool_are_busy(ground: Ground) -> None:
    """More people than connections, and somebody holds what they all want."""
    with ground.http() as http:
        hold = {"folder": str(ground.folder), "script": [[["look", "first"]]]}
        thread = ground.start(http, **hold).json()["id"]
        wait_until(lambda: ground.status(thread) == "succeeded")

        def fork(_: int) -> httpx.Response:
            return http.post(f"/api/v1/threads/{thread}/rollback/", json=body)

        first = queries.checkpoint_by_number(UUID(thread), 0).id
        body = {"checkpoint": str(first), "reason": "once more"}
        with closing(ground.session()) as guest:
            guest.execute("SELECT 1 FROM gp_thread WHERE id = %s FOR UPDATE", (thread,))
            with ThreadPoolExecutor(3 * POOL) as pool:
                answers = list(pool.map(fork, range(3 * POOL)))
            for answer in answers:
                unavailable(answer)
            guest.rollback()
        assert ground.status(thread) == "succeeded"
        works_again(ground, http)
        assert fork(0).status_code == 202


def test_a_table_that_somebody_locks(ground: Ground) -> None:
    with ground.http() as http, closing(ground.session()) as guest:
        works_again(ground, http)
        guest.execute("LOCK TABLE gp_approval IN ACCESS EXCLUSIVE MODE")
        busy = http.get("/api/v1/approvals/")
        unavailable(busy)
        assert "Somebody else is changing this" in busy.json()["detail"]
        guest.rollback()
        assert http.get("/api/v1/approvals/").status_code == 200


def test_valkey_goes_away_and_comes_back(ground: Ground) -> None:
    """Hints and doorbells are lost, answers are not; the sweep finds what nobody rang for."""
    with ground.http() as http:
        works_again(ground, http)
        ground.valkey.stop()
        made = []
        try:
            for _ in range(3):
                answer = ground.start(http, folder=str(ground.folder), script=[[["look", "first"]]])
                assert answer.status_code == 201, answer.text
                assert answer.elapsed.total_seconds() < 2
                made.append(answer.json()["id"])
            assert http.get(f"/api/v1/threads/{made[0]}/").json()["status"] == "queued"
            assert http.get("/readyz").json()["valkey"] == "down"
        finally:
            ground.valkey.start()
            ground.valkey.wait()
        for thread in made:
            wait_until(
                lambda thread=thread: ground.status(thread) == "succeeded",
                seconds=2 * HEALED,
                what=lambda thread=thread: ground.status(thread),
            )
        works_again(ground, http)


def test_a_frozen_valkey_holds_nobody(ground: Ground) -> None:
    """It takes connections and never answers: each doorbell is given up for lost."""
    waits, made = [], []
    with ground.http() as http:
        works_again(ground, http)
        assert ground.valkey.process is not None
        ground.valkey.process.send_signal(signal.SIGSTOP)
        try:
            values = {"folder": str(ground.folder), "script": [[["look", "first"]]]}
            for answer in at_once(*[partial(ground.start, http, **values)] * 12):
                assert answer.status_code == 201, answer.text
                made.append(answer.json()["id"])
                waits.append(answer.elapsed.total_seconds())
        finally:
            ground.valkey.process.send_signal(signal.SIGCONT)
        for thread in made:
            wait_until(
                lambda thread=thread: ground.status(thread) == "succeeded",
                seconds=2 * HEALED,
                what=lambda thread=thread: ground.status(thread),
            )
        works_again(ground, http)
    assert len(waits) == 12
    assert max(waits) < FROZEN_SECONDS, sorted(waits)


@pytest.mark.parametrize(
    ("is_member", "status", "detail"),
    [(True, 413, "more than the"), (False, 401, "Sign in first")],
    ids=["member", "stranger"],
)
def test_a_body_without_end_is_not_read_to_its_end(
    ground: Ground, is_member: bool, status: int, detail: str
) -> None:
    """By its announced length, and where none is announced while it comes."""
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(2_000):
            sent += 2**20
            yield b"x" * 2**20

    headers = {"Content-Type": "application/json"}
    if is_member:
        headers["Authorization"] = f"Bearer {ground.token}"
    with httpx.Client(base_url=ground.web.address, timeout=30, headers=headers) as http:
        for path in ("/api/v1/threads/", "/login/"):
            for body in (b"x" * 30 * 2**20, endless()):
                try:
                    answer = http.post(path, content=body)
                except httpx.TransportError:
                    continue  # closed while it was still talking
                assert answer.status_code == status
                assert detail in answer.text
        assert sent < 400 * 2**20
        assert http.get("/healthz").status_code == 200
    with ground.http() as http:
        works_again(ground, http)
