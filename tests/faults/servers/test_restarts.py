"""PostgreSQL is stopped and killed while work goes on: nothing happens that is not recorded."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker
from websockets.sync.client import ClientConnection, connect

from checkpoints import queries
from dashboard.identity import tokens
from tests.faults import invariants
from tests.faults.bench import LEASE, SWEEP, Case, wait_until

from .own_servers import Ground, own_ground, unavailable

pytestmark = pytest.mark.hazard
GOES_ON = 2 * LEASE + SWEEP + 25


@pytest.fixture(scope="module")
def ground(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ground]:
    with own_ground(django_db_blocker, tmp_path_factory.mktemp("restarts"), slots=2) as made:
        yield made


def away(ground: Ground, number: signal.Signals) -> None:
    """Stop the database: SIGINT is "fast", SIGQUIT "immediate", SIGKILL a crash."""
    connections.close_all()
    process = ground.postgres.process
    assert process is not None
    process.send_signal(number)
    process.wait(20)


def back(ground: Ground) -> None:
    ground.postgres.start()
    ground.postgres.wait()


def play(ground: Ground, http: httpx.Client, folder: Path, *steps: str, hold: str = "") -> Case:
    """Start a script through the web process."""
    folder.mkdir(parents=True)
    if hold:
        (folder / f"{hold}.hold").touch()
    script = [[order.split() for order in step.split(", ")] for step in steps]
    answer = ground.start(http, folder=str(folder), script=script)
    assert answer.status_code == 201, answer.text
    return Case(UUID(answer.json()["id"]), folder, ground.cast.workspace)


@pytest.fixture
def http(ground: Ground) -> Iterator[httpx.Client]:
    with ground.http() as client:
        yield client


@pytest.fixture
def manager(ground: Ground) -> Iterator[httpx.Client]:
    who, scopes = ground.cast.users["manager"], ["read", "decide"]
    token = tokens.make(who, made_by="user:0", scopes=scopes)[1]
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=ground.web.address, timeout=20, headers=headers) as client:
        yield client


@pytest.mark.requirement("A08")
def test_no_effect_happens_before_it_is_recorded(
    ground: Ground,
    http: httpx.Client,
    tmp_path: Path,
) -> None:
    """The database dies in a node, just before an effect: the worker stops there."""
    refused = 0
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        case = play(
            ground, http, tmp_path / number.name, "look first, hold gap, deliver parcel",
            "look last", hold="gap",
        )  # fmt: skip
        case.wait_called("first")
        case.wait_event("activity.finished")
        message = len(worker_log(ground))
        away(ground, number)
        try:
            case.go("gap")
            # It comes to the effect, cannot note that it begins, and leaves it alone.
            wait_until(lambda s=message: "step.interrupted" in worker_log(ground)[s:], seconds=15)
            refused += case.calls("parcel") == []
            wait_until(lambda: readiness(ground)[0] == 503, seconds=15, what="readiness to notice")
            payload = readiness(ground)[1]
            assert (payload["database"], payload["valkey"]) == ("down", "ok")
            unavailable(http.get("/api/v1/threads/"))
        finally:
            back(ground)
        # By itself: nobody restarts anything.
        case.wait_status("succeeded", seconds=GOES_ON)
        assert len(case.calls("parcel")) == len(case.calls("first")) == 1
        wait_until(lambda: readiness(ground)[1]["ready"], seconds=30)
        invariants.check(case)
    assert refused == 3


def readiness(ground: Ground) -> tuple[int, dict[str, Any]]:
    answer = httpx.get(f"{ground.web.address}/readyz", timeout=10)
    return answer.status_code, answer.json()


def worker_log(ground: Ground) -> str:
    return (ground.folder / "away.txt").read_text()


@pytest.mark.requirement("A08")
@pytest.mark.requirement("C30")
def test_restarts_while_threads_work_and_people_decide(
    ground: Ground,
    http: httpx.Client,
    manager: httpx.Client,
    tmp_path: Path,
) -> None:
    steps = ("look a, look b", "ask parcel, look c", "deliver second", "look last")
    cases = [play(ground, http, tmp_path / f"case-{n}", *steps) for n in range(10)]
    acknowledged: dict[str, str] = {}
    other: set[int] = set()
    ended = threading.Event()

    def decide() -> None:
        """A reviewer who says yes to whatever is open, and hears a refusal now and then."""
        while not ended.wait(0.05):
            try:
                listed = manager.get("/api/v1/approvals/?status=pending&limit=20")
                for request in listed.json()["results"] if listed.status_code == 200 else []:
                    payload = {"verdict": "approve", "proposal_hash": request["proposal_hash"]}
                    path = f"/api/v1/approvals/{request['id']}/decide/"
                    answer = manager.post(path, json=payload)
                    if answer.status_code == 200:
                        acknowledged[request["id"]] = request["thread"]
                        break  # one at a time: restarts come in between
                    other.add(answer.status_code)
                if listed.status_code != 200:
                    other.add(listed.status_code)
            except httpx.TransportError:
                other.add(0)

    reviewer = threading.Thread(target=decide)
    reviewer.start()
    restarts = in_between = 0
    try:
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGINT, signal.SIGQUIT):
            known = len(acknowledged)
            wait_until(
                lambda k=known: len(acknowledged) > k or len(acknowledged) == len(cases),
                seconds=GOES_ON,
                what=lambda: [case.summary() for case in cases],
            )
            in_between += len(acknowledged) < len(cases)
            away(ground, number)
            back(ground)
            restarts += 1
        for case in cases:
            case.wait_status("succeeded", seconds=2 * GOES_ON)
    finally:
        ended.set()
        reviewer.join(30)
    assert restarts == 4
    assert in_between >= 3, "they came after all had been decided"
    assert other <= {0, 503, 409}, other  # no other answer while it was away
    assert len(acknowledged) >= 4
    for case in cases:
        invariants.check(case)
        kinds = case.kinds()
        assert kinds.count("approval.decided") == 1
        assert kinds.count("checkpoint.committed") == len(steps)
        for name in ("parcel", "second"):
            assert len(set(case.calls(name))) == 1
    # What was answered with 200 is in the log of its thread.
    for approval, thread in acknowledged.items():
        events = queries.events_after(UUID(thread), 0)
        assert approval in [e.data["approval"] for e in events if e.kind == "approval.decided"]


def test_without_valkey_people_go_on_and_pages_say_so(
    ground: Ground,
    http: httpx.Client,
    manager: httpx.Client,
    tmp_path: Path,
) -> None:
    """F08: start, approve and cancel while it is dead; work goes on within the promised time."""
    gate = play(ground, http, tmp_path / "gate", "ask parcel", "look last")
    gate.wait_status("waiting")
    unwanted = play(ground, http, tmp_path / "unwanted", "ask other")
    unwanted.wait_status("waiting")
    cookie = ground.cast.client("operator").cookies["sessionid"].value
    with connect(
        f"{ground.web.address.replace('http', 'ws', 1)}/ws/live/",
        origin=ground.web.address,  # type: ignore[arg-type]
        additional_headers={"Cookie": f"sessionid={cookie}"},
    ) as socket:
        process = ground.valkey.process
        assert process is not None
        process.kill()
        process.wait()
        try:
            assert speed(socket) is True
            begun = play(ground, http, tmp_path / "begun", "look first")  # 201
            request = manager.get("/api/v1/approvals/?status=pending&limit=50").json()["results"]
            (query,) = [a for a in request if a["thread"] == str(gate.id)]
            decided = manager.post(
                f"/api/v1/approvals/{query['id']}/decide/",
                json={"verdict": "approve", "proposal_hash": query["proposal_hash"]},
            )
            assert decided.status_code == 200, decided.text
            ended = http.post(f"/api/v1/threads/{unwanted.id}/cancel/", json={"reason": "no"})
            assert (ended.status_code, ended.json()["status"]) == (200, "cancelled")
            page = httpx.get(
                f"{ground.web.address}/threads/{gate.id}/", cookies={"sessionid": cookie}
            )
            assert page.status_code == 200
        finally:
            ground.valkey.start()
            ground.valkey.wait()
        returned = time.monotonic()
        assert speed(socket) is False
    for case in (gate, begun):
        case.wait_status("succeeded", seconds=20)
    assert time.monotonic() - returned <= 20
    assert len(gate.calls("parcel")) == 1
    assert unwanted.calls("other") == []


def speed(socket: ClientConnection, seconds: float = 20) -> bool:
    """What the server last said about how soon pages hear of news."""
    until = time.monotonic() + seconds
    while True:
        payload = json.loads(socket.recv(timeout=max(0.01, until - time.monotonic())))
        if payload["type"] == "speed":
            return bool(payload["slow"])
