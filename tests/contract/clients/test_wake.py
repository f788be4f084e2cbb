"""The example wake.py: a signed message starts a worker where none lives; nothing else does."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_django import DjangoDbBlocker
from standardwebhooks import Webhook

from approvals.notify.endpoints import Wanted, make
from checkpoints.queries import default_workspace
from dashboard.identity import tokens
from tests.conftest import real_database
from tests.faults.bench import wait_until
from tests.faults.services.test_notify import LOOPBACK, loopback
from tests.support.cast import make_cast
from tests.support.site import free_port, started_site

from .bench import EXAMPLES, Person, Script, Server, lines, python

__all__ = ["loopback"]  # a fixture

pytestmark = pytest.mark.slow  # starts the product and processes
NAME = "november; touch stolen"  # one argument, whatever it holds


@pytest.fixture
def waking(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Server]:
    """A Gatepost with a worker, which sweeps and sends; no agent lives anywhere."""
    with django_db_blocker.unblock(), real_database("gatepost_waking"):
        cast = make_cast()
        scopes = {"operator": ["read", "start", "work"], "manager": ["read", "decide"]}
        made = {
            who: tokens.make(cast.users[who], made_by="user:0", scopes=names)[1]
            for who, names in scopes.items()
        }
        with started_site(slots=1, GATEPOST_UNDO_WINDOWS="0,0,0", **LOOPBACK) as site:
            people = [Person(site.url, made[who]) for who in scopes]
            yield Server(site.url, made["operator"], *people, lambda: site.log("worker"))
            for person in people:
                person.http.close()


@contextmanager
def started(server: Server, folder: Path, secret: str, **more: str) -> Iterator[tuple[Script, str]]:
    """The receiver and its address."""
    command = [*python(EXAMPLES / "wake.py"), *python(EXAMPLES / "invoices.py")]
    environment = {"WEBHOOK_SECRET": secret, "WAKE_PORT": more.pop("port", "0"), **more}
    receiver = Script(server, command, folder, environment).start()
    try:
        wait_until(lambda: "listening on" in receiver.text(), what=receiver.text)
        yield receiver, f"http://127.0.0.1:{receiver.text().split('listening on ')[1].split()[0]}/"
    finally:
        receiver.close()


@pytest.mark.requirement("E05")
@pytest.mark.usefixtures("loopback")
def test_waiting_work_starts_a_worker_at_each_turn(waking: Server, tmp_path: Path) -> None:
    ledger = tmp_path / "paid.txt"
    port = free_port()
    wanted = Wanted(name="starter", target=f"http://127.0.0.1:{port}/")
    _, secret = make(default_workspace(), "webhook", wanted, actor="user:0")
    wake = {"GATEPOST_WAIT": "0", "LEDGER": str(ledger)}
    with started(waking, tmp_path, secret, port=str(port), **wake) as (receiver, _):
        channels = dict.fromkeys(("steps", "step_inputs", "refusals"), "merge")
        tools: dict[str, Any] = {"add_up": {"effect": False}, "pay": {}}
        external = {"framework": "python", "channels": channels, "tools": tools}
        body = {"agent": "invoices-in-python", "name": NAME, "input": {"month": NAME}}
        thread = waking.operator.post("/threads/", body | {"external": external})["id"]
        assert waking.decide(thread)["title"] == "Pay 42 EUR?"
        waking.wait_status(thread, "succeeded")
        assert [line.split()[0] for line in lines(ledger)] == ["42"]
        assert receiver.text().count("adding up") == 1
        assert receiver.text().count("started a worker for") >= 2
        assert not (receiver.folder / "stolen").exists()


def test_what_gatepost_did_not_sign_starts_nothing(tmp_path: Path) -> None:
    secret = f"whsec_{base64.b64encode(os.urandom(32)).decode()}"
    nobody: Any = Server("http://127.0.0.1:9", "none", *[None] * 2)  # type: ignore[list-item]
    body = '{"type": "thread.work_waiting", "data": {"thread": "t", "name": "n"}}'
    webhook = Webhook(secret)

    def headers(signed: str = body, seconds: float = 0, ident: str = "msg_1") -> dict[str, str]:
        at = datetime.fromtimestamp(time.time() - seconds, UTC)
        stamp = str(int(at.timestamp()))
        signature = webhook.sign(ident, at, signed)
        return {"webhook-id": ident, "webhook-timestamp": stamp, "webhook-signature": signature}

    good = headers()
    other = Webhook(f"whsec_{base64.b64encode(os.urandom(32)).decode()}")
    now = datetime.now(UTC)
    forged: list[tuple[str, dict[str, str]]] = [
        (body, {}),
        (body.replace('"n"', '"m"'), good),
        (body, good | {"webhook-id": "msg_2"}),
        (body, good | {"webhook-timestamp": str(int(good["webhook-timestamp"]) + 1)}),
        (body, good | {"webhook-signature": good["webhook-signature"][:-4] + "AAA="}),
        (body, good | {"webhook-signature": "v1,"}),
        (body, good | {"webhook-signature": ""}),
        (body, headers(seconds=3_600)),
        (body, headers(seconds=-3_600)),
        (body, good | {"webhook-signature": other.sign("msg_1", now, body)}),
        ("", good),
        ("{", good),
    ]
    with started(nobody, tmp_path, secret) as (receiver, address), httpx.Client() as http:
        refused = [http.post(address, content=b, headers=h).status_code for b, h in forged]
        assert refused == [401] * len(forged)
        assert "started" not in receiver.text()
        spaced = body.replace(":", ": ")
        assert http.post(address, content=spaced, headers=headers(spaced)).status_code == 204
        assert receiver.text().count("started a worker for n") == 1
        kind = body.replace("work_waiting", "failed")
        assert http.post(address, content=kind, headers=headers(kind)).status_code == 204
        assert receiver.text().count("started a worker") == 1
