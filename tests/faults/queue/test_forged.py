"""Whoever can write to the broker can ring, and nothing else: messages are ids, read again here."""

from __future__ import annotations

import base64
import json
import os
import pickle
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from redis import Redis

from checkpoints import queries, store
from tests.faults.bench import Field, Worker, ask, wait_until
from workers.celery import app

pytestmark = pytest.mark.hazard


class Trap:
    """Unpickling it would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


def message(raw: bytes, kind: str, task: str = "gatepost.advance", **more: Any) -> str:
    """A message as the broker keeps it, with any body."""
    ident = str(uuid4())
    envelope = {
        "body": base64.b64encode(raw).decode(),
        "content-encoding": "utf-8" if "json" in kind else "binary",
        "content-type": kind,
        "headers": {"lang": "py", "task": task, "id": ident, "root_id": ident, "retries": 0},
        "properties": {
            "correlation_id": ident,
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": "gatepost"},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": str(uuid4()),
        },
    }
    return json.dumps(envelope | more)


def body(*args: Any, **kwargs: Any) -> bytes:
    return json.dumps([list(args), kwargs, {}]).encode()


def test_forged_messages_are_ignored_and_the_worker_lives(
    field: Field, worker: Worker, tmp_path: Path
) -> None:
    wait_until(lambda: len(worker.slots()) == 2, what="a whole pool")
    slots, trap = set(worker.slots()), tmp_path / "trapped"
    read = len(worker.log.read_text())
    # Somebody else's thread: a ring is all that a message can be, whatever it says about tenants.
    elsewhere = store.create_workspace("forged", actor="user:0")
    held = field.play("look only")
    held.wait_status("succeeded")
    before = ask("SELECT count(*), max(xid8::text) FROM gp_event WHERE thread_id = %s", held.id)

    pickled = "application/x-python-serialize"
    forged = [
        message(body(str(uuid4())), "application/json"),  # no such thread
        message(body("x'; DROP TABLE gp_thread; --"), "application/json"),
        message(body({"id": str(held.id)}), "application/json"),
        message(body(), "application/json"),
        message(body(str(held.id), str(elsewhere)), "application/json"),
        message(body(str(held.id), workspace=str(elsewhere)), "application/json"),
        message(body(str(held.id)), "application/json"),  # finished: nothing to do
        message(body("x"), "application/json", task="os.system"),
        message(b"not json", "application/json"),
        message(pickle.dumps(([Trap(trap)], {}, {})), pickled),
        message(pickle.dumps(Trap(trap)), pickled, task="gatepost.canary"),
        message(b"!!!", "application/x-yaml"),
        message(body("x"), "application/json", headers={}),
        message(body("x"), "application/json", body="no base64 at all"),
        "no message at all",
        "[1, 2, 3]",
        "{}",
        "\x00\xff",
    ]
    with Redis.from_url(settings.REDIS_URL) as valkey:
        for text in forged:
            valkey.lpush("gatepost", text)
        wait_until(lambda: valkey.llen("gatepost") == 0, what="all to be taken")

    # The worker goes on with honest work, in the same processes.
    cases = [field.play("look a", "deliver parcel") for _ in range(4)]
    done = [case.wait_status("succeeded") for case in cases]
    assert len(done) == 4
    assert worker.alive
    assert set(worker.slots()) == slots
    assert not trap.exists()
    after = ask("SELECT count(*), max(xid8::text) FROM gp_event WHERE thread_id = %s", held.id)
    assert after == before
    assert ask("SELECT count(*) FROM gp_thread WHERE workspace_id = %s", elsewhere) == [(0,)]
    output = worker.log.read_text()[read:]
    for word in ("message.refused", "x-python-serialize", "one argument", "os.system"):
        assert word in output, (word, output[-4000:])
    assert "Traceback" not in output


@pytest.mark.requirement("C29")
def test_two_workers_and_ten_doorbells_each_are_one_execution(field: Field, worker: Worker) -> None:
    """Delivered to two slots at once, again and again: whoever comes second finds the lease."""
    cases = [field.play("look first", "deliver parcel", hold=("in-first",)) for _ in range(2)]
    for case in cases:
        case.wait_called("first")
    for _ in range(10):
        for case in cases:
            app.send_task("gatepost.advance", args=[str(case.id)], queue="gatepost", retry=False)
    with Redis.from_url(settings.REDIS_URL) as valkey:
        assert valkey.llen("gatepost") >= 10
    for case in cases:
        case.go("in-first")
    done = [case.wait_status("succeeded") for case in cases]
    assert len(done) == 2
    for case in cases:
        assert (len(case.calls("first")), len(case.calls("parcel"))) == (1, 1)
        assert case.kinds().count("lease.acquired") == 1
        assert queries.thread(UUID(str(case.id)), workspace=case.workspace).fence == 1
