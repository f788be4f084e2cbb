"""An encrypted channel on servers of its own: no dump, file, log, queue or message holds a byte.

A thread passes a gate, a failure and a retry, is edited and forked; workers, web process and
servers are processes of their own. A word of a plain channel is found in every such place, so that
the search is one.
"""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import redis
from pytest_django import DjangoDbBlocker

from approvals.notify import endpoints
from approvals.notify.endpoints import Wanted
from approvals.notify.texts.kinds import NEWS
from checkpoints.chain import verify_thread
from dashboard.identity import tokens
from dashboard.operate.embedded.process.library import postgres_programs
from tests.contract.secrets import grep
from tests.faults.bench import AGENTS, Case, wait_until
from tests.faults.embedded.helpers import clean_environment
from tests.faults.services.test_notify import LOOPBACK, loopback
from tests.unit.approvals import post

from .own_servers import Ground, own_ground

__all__ = ["loopback"]
pytestmark = pytest.mark.hazard
# With what JSON, HTML and mails write otherwise.
STARTED, EDITED, FORKED = (f'Mörbus "{name}" canary-91c4' for name in ("one", "two", "three"))
PRIVATE, PLAIN = (STARTED, EDITED, FORKED), "patient-7f3a-in-plain"
PLACES = {"dump", "wal", "valkey", "aof", "file", "log", "mail", "webhook", "answer"}


class People:
    """Requests of the cast, whose answers are kept for the search."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.answers: list[bytes] = []

    def call(self, who: str, path: str, body: Any = None, *, scopes: tuple[str, ...] = ()) -> Any:
        wanted = list(scopes) or None
        token = tokens.make(self.ground.cast.users[who], made_by="user:0", scopes=wanted)[1]
        headers = {"Authorization": f"Bearer {token}"}
        method = "GET" if body is None else "POST"
        address = f"{self.ground.web.address}/api/v1/{path}"
        answer = httpx.request(method, address, json=body, headers=headers, timeout=30)
        assert answer.is_success, (path, answer.text)
        if not path.endswith("/reveal/"):
            self.answers.append(answer.content)
        return answer.json() if "json" in answer.headers["content-type"] else answer.content

    def approve(self, case: Case) -> None:
        row = case.open()
        body = {"verdict": "approve", "proposal_hash": row.proposal_hash}
        self.call("manager", f"approvals/{row.id}/decide/", body, scopes=("read", "decide"))

    def revealed(self, case: Case, **body: str) -> Any:
        scopes = ("read", "reveal")
        path = f"threads/{case.id}/reveal/"
        return self.call("auditor", path, {"channel": "diagnosis", **body}, scopes=scopes)["value"]


@pytest.fixture
def ground(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[int], Any]:
    """Start everything for people who have their mail at a port."""
    shutil.copy(AGENTS / "encrypted_agents.py", tmp_path)

    def start(mail_port: int) -> Any:
        environment = {
            **LOOPBACK,
            "EMAIL_URL": f"smtp://127.0.0.1:{mail_port}",
            "GATEPOST_UNDO_WINDOWS": "0,0,0",
            "GATEPOST_LOG_LEVEL": "DEBUG",
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        worker = {"GATEPOST_AGENTS": "encrypted_agents"}
        return own_ground(django_db_blocker, tmp_path, environment=worker)

    return start


def test_no_byte_of_an_encrypted_channel_leaves_it(
    ground: Callable[[int], Any], tmp_path: Path, loopback: None
) -> None:
    with post.mail_server() as box, post.web_hook() as hook, ground(box.port) as made:
        make_endpoints(made, hook)
        people = People(made)
        case, fork = work(people, tmp_path)
        wait_until(lambda: hook.got and box.mails, what="messages")
        values = [people.revealed(one) for one in (case, fork)]
        assert values == [EDITED, FORKED]
        for one in (case, fork):
            look_at_everything(people, one)
            assert verify_thread(one.id).intact
        sent = [("mail", part) for _, mail in box.mails for part in texts_of(mail)]
        sent += [("webhook", got.body) for got in hook.got]
        answers = [("answer", answer) for answer in people.answers]
        seen = search(iter([*stored_bytes(made), *sent, *answers]))
    private = {word: places for word, places in seen.items() if word != PLAIN}
    assert private == {}
    assert seen[PLAIN] >= PLACES, seen


def make_endpoints(ground: Ground, hook: post.Hook) -> None:
    """Everybody is told everything, by mail and by a webhook."""
    for user in ground.cast.users.values():
        user.email = f"{user.username}@example.com"
        user.save()
    for kind, target in (("webhook", hook.url), ("email", "")):
        wanted = Wanted(name=kind, target=target or None, events=NEWS)
        endpoints.make(ground.cast.workspace, kind, wanted, actor="user:1")


def work(people: People, folder: Path) -> tuple[Case, Case]:
    """Let the thread fail, be edited, retried and forked."""
    cast = people.ground.cast
    started = people.call(
        "operator",
        "threads/",
        {
            "agent": "private-case",
            "input": {"folder": str(folder), "patient": PLAIN, "diagnosis": STARTED},
        },
    )
    case = Case(UUID(started["id"]), folder, cast.workspace)
    case.wait_status("waiting")
    first = people.call("operator", f"threads/{case.id}/checkpoints/")["results"][-1]["id"]
    people.approve(case)
    reason = case.wait_status("failed").status_reason
    assert "cannot treat" in reason or "RuntimeError" in reason, reason
    (folder / "mended").touch()
    body = {
        "changes": {"diagnosis": EDITED, "findings": {"of": [EDITED] * 50, "n": 1}},
        "reason": "another patient's",
    }
    people.call("operator", f"threads/{case.id}/edit/", body)
    people.call("operator", f"threads/{case.id}/retry/", {})
    case.wait_status("succeeded")
    forked = people.call(
        "operator",
        f"threads/{case.id}/fork/",
        {"checkpoint": first, "changes": {"diagnosis": FORKED}, "effects": "run"},
    )
    fork = Case(UUID(forked["id"]), folder, cast.workspace)
    fork.wait_status("waiting")
    assert people.revealed(case, checkpoint=first) == STARTED
    people.approve(fork)
    fork.wait_status("succeeded")
    return case, fork


def look_at_everything(people: People, case: Case) -> None:
    """Read all that the API tells of a thread, and take its capsule along, unpacked."""
    for part in ("", "state/", "state/?format=yaml", "events/", "activities/", "checkpoints/"):
        people.call("auditor", f"threads/{case.id}/{part}")
    capsule = people.call("auditor", f"threads/{case.id}/capsule/")
    with zipfile.ZipFile(BytesIO(capsule)) as packed:
        people.answers += [packed.read(name) for name in packed.namelist()]


def texts_of(mail: Any) -> Iterator[bytes]:
    """The parts of a mail, decoded, and the mail as it was sent."""
    yield mail.as_bytes()
    for part in mail.walk():
        yield part.get_payload(decode=True) or b""


def stored_bytes(ground: Ground) -> Iterator[tuple[str, bytes]]:
    """(where, bytes) of everything that the installation keeps."""
    places = ground.postgres.places
    dumped = subprocess.run(
        [str(postgres_programs(places) / "pg_dump"), "--dbname", ground.postgres.address()],
        env=clean_environment(),
        capture_output=True,
        check=True,
    )
    yield "dump", dumped.stdout
    with redis.Redis(unix_socket_path=str(places.valkey_socket)) as valkey:
        for key in valkey.scan_iter(count=1_000):
            yield "valkey", repr((key, grep.value_of(valkey, key))).encode()
            yield "valkey", key + (valkey.dump(key) or b"")
    folders = {"wal": places.postgres / "pg_wal", "aof": places.valkey, "log": places.logs}
    for name, folder in folders.items():
        yield from ((name, path.read_bytes()) for path in folder.rglob("*") if path.is_file())
    of_servers = (places.postgres, *folders.values())
    for path in (*places.data.rglob("*"), *ground.folder.rglob("*")):
        if path.is_file() and not any(path.is_relative_to(folder) for folder in of_servers):
            kind = "log" if path.suffix in (".log", ".txt") else "file"
            yield kind, str(path).encode() + path.read_bytes()


def search(items: Iterator[tuple[str, bytes]]) -> dict[str, set[str]]:
    """{word: the places that have it, in any form}."""
    wanted = {word: grep.forms(word) for word in (*PRIVATE, PLAIN)}
    results: dict[str, set[str]] = {}
    for where, raw in items:
        for word, shapes in wanted.items():
            if any(shape in raw for shape in shapes):
                results.setdefault(word, set()).add(where)
    return results
