"""Whatever error Valkey answers, workers and web processes go on when it is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from django.conf import settings
from redis import Redis

from dashboard.identity import tokens
from tests.faults.bench import Case, Field, Worker, wait_until, workers
from tests.faults.web import Web
from tests.support.cast import make_cast

from .error_replies import ErrorReplies

pytestmark = pytest.mark.hazard
QUEUE = "replies"
AGENT = f"script-{QUEUE}"
STRUCK_SECONDS = 0.8
REPLIES = [
    "MISCONF Valkey is configured to save RDB snapshots, but it's currently unable to persist",
    "WRONGTYPE Operation against a key holding the wrong kind of value",
    "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
    "READONLY You can't write against a read only replica.",
    "LOADING Valkey is loading the dataset in memory",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "NOAUTH Authentication required.",
    "NOPERM User default has no permissions to run the 'brpop' command",
    "WRONGPASS invalid username-password pair or user is disabled.",
    "NOSCRIPT No matching script. Please use EVAL.",
    "BUSY Valkey is busy running a script.",
    "CLUSTERDOWN The cluster is down",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "EXECABORT Transaction discarded because of previous errors.",
    "NOREPLICAS Not enough good replicas to write.",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "MOVED 3999 127.0.0.1:6381",
    "ASK 3999 127.0.0.1:6381",
    "CROSSSLOT Keys in request don't hash to the same slot",
    "ERR unknown command 'BRPOP', with args beginning with: ",
    "ERR max number of clients reached",
    "ERR Protocol error: invalid bulk length",
    "SOMETHING that no server says today",
    "",
]


@pytest.fixture
def replies() -> Iterator[ErrorReplies]:
    made = ErrorReplies(settings.PLACES.valkey_socket)
    yield made
    made.close()


def test_a_worker_survives_each_error_reply(
    ground: Path, field: Field, replies: ErrorReplies
) -> None:
    worker = Worker(
        ground,
        "replies",
        slots=2,
        queues=QUEUE,
        environment={
            "HAZARD_QUEUE": QUEUE,
            "REDIS_URL": f"redis://127.0.0.1:{replies.port}/0",
        },
    )
    took = []
    with workers(worker):
        field.play("look first", agent=AGENT).wait_status("succeeded")
        for number, reply in enumerate(REPLIES):
            answered = replies.answered
            replies.begin(reply)
            if number % 2:  # once, to whoever asks next; or to everybody for a time
                wait_until(lambda a=answered: replies.answered > a, what=reply)
            else:
                time.sleep(STRUCK_SECONDS)
            replies.end()
            assert replies.answered > answered, reply
            began = time.monotonic()
            case = field.play("look after", "deliver parcel", agent=AGENT)
            case.wait_status("succeeded", seconds=10)
            took.append(time.monotonic() - began)
            assert worker.alive, (reply, worker.log.read_text()[-3000:])
        log = worker.log.read_text()
    assert len(took) == len(REPLIES)
    assert max(took) < 5, list(zip(took, REPLIES, strict=True))
    assert "Unrecoverable" not in log


def test_a_web_process_survives_each_error_reply(
    ground: Path, field: Field, worker: Worker, replies: ErrorReplies
) -> None:
    """Starts and pages are answered meanwhile, none with a 5xx; readiness names Valkey at most."""
    cast = make_cast()
    token = tokens.make(cast.users["operator"], made_by="user:0")[1]
    web = Web(ground, REDIS_URL=f"redis://127.0.0.1:{replies.port}/0")
    started, request = [], 0
    try:
        web.wait_ready()
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=web.address, timeout=20, headers=headers) as http:
            for number, reply in enumerate(REPLIES):
                folder = field.folder / f"replies-{number}"
                folder.mkdir()
                script = {"folder": str(folder), "script": [[["look", "a"]]]}
                body = {"agent": "script", "input": script}
                before = replies.answered
                replies.begin(reply)
                answer = http.post("/api/v1/threads/", json=body)
                page = http.get("/login/")
                ready = http.get("/readyz")
                replies.end()
                request += replies.answered - before
                assert answer.status_code == 201, (reply, answer.text)
                assert page.status_code == 200, reply
                down = {name for name, state in ready.json().items() if state == "down"}
                assert down <= {"valkey"}, (reply, down)
                assert answer.elapsed.total_seconds() < 5, reply
                started.append(Case(UUID(answer.json()["id"]), folder, cast.workspace))
            assert web.process.poll() is None
        # Whose doorbell was lost is found by the sweep.
        for case in started:
            case.wait_status("succeeded", seconds=30)
        log = web.log.read_text()
    finally:
        web.kill()
    assert len(started) == len(REPLIES)
    assert request >= len(REPLIES)
    assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:3000]


def test_foreign_values_in_the_place_of_bindings_are_dropped_after_a_reconnect(
    ground: Path, field: Field
) -> None:
    """Bindings are declared with each connection: what stays there would stop every worker."""
    worker = Worker(ground, "bindings", slots=1, queues=QUEUE, environment={"HAZARD_QUEUE": QUEUE})
    rounds = 0
    with workers(worker), Redis.from_url(settings.REDIS_URL) as valkey:
        field.play("look first", agent=AGENT).wait_status("succeeded")
        bindings = [key.decode() for key in valkey.keys("_kombu.binding*") if QUEUE.encode() in key]
        bindings.append(f"_kombu.binding.{QUEUE}")
        for make in (
            lambda key: valkey.set(key, "x"),
            lambda key: valkey.hset(key, "x", "y"),
            lambda key: valkey.zadd(key, {"x": 1}),
            lambda key: valkey.rpush(key, "x"),
            lambda key: valkey.sadd(key, "no binding"),
        ):
            for key in {*bindings, QUEUE}:
                valkey.unlink(key)
                assert make(key)
            valkey.client_kill_filter(_type="normal", skipme=True)
            # Before anything is sent: a sender drops foreign values too, and notes it in its log.
            wait_until(
                lambda: all(valkey.type(key) in (b"none", b"set") for key in bindings),
                what="the worker's bindings",
            )
            case = field.play("look after", agent=AGENT)
            case.wait_status("succeeded", seconds=10)
            assert worker.alive
            rounds += 1
        log = worker.log.read_text()
    assert rounds == 5
    for key in bindings:
        assert "a string was in the place of a set" in log
        assert key in log
    # One try to connect is a few lines; without a pause it was 80 tries a second.
    assert log.count("\n") < 1_500, log[-3000:]


def test_a_key_of_the_wrong_type_in_the_place_of_a_queue_is_dropped(
    ground: Path, field: Field
) -> None:
    worker = Worker(ground, "types", slots=1, queues=QUEUE, environment={"HAZARD_QUEUE": QUEUE})
    with workers(worker), Redis.from_url(settings.REDIS_URL) as valkey:
        field.play("look first", agent=AGENT).wait_status("succeeded")
        for make in (
            lambda key: valkey.set(key, "x"),
            lambda key: valkey.sadd(key, "x"),
            lambda key: valkey.hset(key, "x", "y"),
            lambda key: valkey.zadd(key, {"x": 1}),
            lambda key: valkey.xadd(key, {"x": "y"}),
        ):
            for key in (QUEUE, f"{QUEUE}\x06\x169"):
                assert make(key)
                wait_until(lambda k=key: valkey.type(k) in (b"none", b"list"), what=key)
                case = field.play("look after", agent=AGENT)
                case.wait_status("succeeded", seconds=10)
        assert worker.alive
        assert worker.log.read_text().count("message.refused") >= 10
