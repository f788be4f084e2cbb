"""Two web and two worker processes as docker-compose.yml starts them: kill any one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from websockets.sync.client import ClientConnection, connect

from tests.faults.bench import wait_until
from tests.faults.web import PASSWORD, Person

from .fleet import LEASE, OWNER, RUNTIME, Fleet, Web

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("D07")]
# The promise leaves 5 seconds beside the lease: 20 with the lease of 15.
PROMISED = LEASE + 5
PEOPLE = """
from django.contrib.auth import get_user_model
from checkpoints import store
place = store.create_workspace("fleet", actor="user:0")
for name, role in (("operator", "operator"), ("manager", "reviewer")):
    user = get_user_model().objects.create_user(name, password=%r)
    store.grant(place, user.pk, role, actor="user:0")
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    home = Path(tempfile.mkdtemp(prefix="gp-", dir="/tmp"))
    home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    made = Fleet(home / "data", tmp_path_factory.mktemp("fleet"))
    try:
        made.start()
        made.manage("shell", "--command", PEOPLE % PASSWORD)
        yield made
    finally:
        made.stop()
        shutil.rmtree(home, ignore_errors=True)


class Crew:
    """The people of one web process, and the threads that they have started."""

    def __init__(self, fleet: Fleet, web: Web, folder: Path) -> None:
        self.fleet, self.web, self.folder = fleet, web, folder
        self.operator, self.manager = Person(web, "operator"), Person(web, "manager")  # type: ignore[arg-type]

    def play(self, name: str, *steps: str, hold: str = "") -> str:
        """Start a script; the thread's id."""
        folder = self.folder / name
        folder.mkdir()
        if hold:
            (folder / f"{hold}.hold").touch()
        script = [[order.split() for order in step.split(", ")] for step in steps]
        body = {"agent": "script", "input": {"folder": str(folder), "script": script}}
        answer = self.operator.post("/threads/", body | {"title": name})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def called(self, name: str, what: str) -> list[str]:
        path = self.folder / name / f"{what}.log"
        return path.read_text().splitlines() if path.exists() else []

    def go(self, name: str, hold: str) -> None:
        (self.folder / name / f"{hold}.hold").unlink()

    def thread(self, ident: str) -> dict[str, Any]:
        answer = self.operator.get(f"/threads/{ident}/")
        assert answer.status_code == 200, answer.text
        payload: dict[str, Any] = answer.json()
        return payload

    def status(self, ident: str, *wanted: str, seconds: float = 20) -> float:
        """Wait for one of the statuses; how long it took."""
        began = time.monotonic()

        def there() -> bool:
            try:
                return self.thread(ident)["status"] in wanted
            except (AssertionError, httpx.TransportError):
                return False

        wait_until(there, seconds=seconds, what=self.fleet.summary)
        return time.monotonic() - began


@pytest.fixture
def crew_at(fleet: Fleet, tmp_path: Path) -> Iterator[Callable[[str], Crew]]:
    """Gives the people of a web process."""
    made: list[Crew] = []

    def crew(web: str) -> Crew:
        made.append(Crew(fleet, fleet.web(web), tmp_path))
        return made[-1]

    yield crew
    for one in made:
        one.operator.http.close()
        one.manager.http.close()


@contextmanager
def following(crew: Crew, thread: str) -> Iterator[ClientConnection]:
    """A page's socket that follows the thread; its first frame has been read."""
    address = crew.web.address.replace("http", "ws", 1)
    cookies = "; ".join(f"{k}={v}" for k, v in crew.operator.http.cookies.items())
    with connect(
        f"{address}/ws/live/",
        origin=crew.web.address,  # type: ignore[arg-type]
        additional_headers={"Cookie": cookies},
    ) as socket:
        topic = f"thread:{thread}"
        join = {
            "type": "join",
            "regions": [{"id": "thread-events", "topic": topic}],
            "topics": {topic: 0},
        }
        socket.send(json.dumps(join))
        frame(socket, topic, beyond=0)
        yield socket


def frame(socket: ClientConnection, topic: str, *, beyond: int, seconds: float = 5) -> int:
    """The number of the next frame of the topic that is newer."""
    until = time.monotonic() + seconds
    while True:
        message = json.loads(socket.recv(timeout=max(0.01, until - time.monotonic())))
        assert message["type"] != "closed", message
        if message["type"] == "frame" and message["topic"] == topic and message["seq"] > beyond:
            return int(message["seq"])


def test_the_runtime_role_does_all_that_the_product_does(
    fleet: Fleet, crew_at: Callable[[str], Crew], tmp_path: Path
) -> None:
    """start -> gate -> approve -> effect -> rollback -> undone, and no log can be touched."""
    crew = crew_at("web-1")
    thread = crew.play("whole", "look a", "ask parcel", "look b")
    crew.status(thread, "waiting")
    first = crew.manager.get("/approvals/?status=pending").json()
    (request,) = [a for a in first["results"] if a["thread"] == thread]
    decided = crew.manager.post(
        f"/approvals/{request['id']}/decide/",
        {"verdict": "approve", "proposal_hash": request["proposal_hash"]},
    )
    assert decided.status_code == 200, decided.text
    crew.status(thread, "succeeded")
    assert (tmp_path / "whole" / "parcel.parcel").exists()
    checkpoints = crew.manager.get(f"/threads/{thread}/checkpoints/").json()["results"]
    target = min(checkpoints, key=lambda c: c["number"])
    undone = crew.manager.post(
        f"/threads/{thread}/rollback/", {"checkpoint": target["id"], "reason": "wrong address"}
    )
    assert undone.status_code in (200, 202), undone.text
    crew.status(thread, "paused")
    assert not (tmp_path / "whole" / "parcel.parcel").exists()

    for pid in (fleet.parts[n].pid for n in ("web-1", "worker-1")):
        assert processes_role(fleet, pid)
    roles = fleet.ask(
        "SELECT DISTINCT usename, ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) "
        "WHERE application_name IN ('gatepost-web', 'gatepost-worker')"
    )
    assert roles == [(RUNTIME, True)]
    environment = fleet.parts["web-1"].environment
    password = Path(environment["DATABASE_PASSWORD_FILE"]).read_text().strip()
    with psycopg.connect(environment["DATABASE_URL"], password=password, autocommit=True) as role:
        for statement in (
            "UPDATE gp_event SET kind = kind",
            "DELETE FROM gp_checkpoint",
            "TRUNCATE gp_decision",
            "ALTER TABLE gp_event DISABLE TRIGGER ALL",
            "DROP TABLE gp_event",
            "SET session_replication_role = replica",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                role.execute(statement)


def processes_role(fleet: Fleet, pid: int) -> bool:
    """No process of the fleet was told the owner's password."""
    environ = Path(f"/proc/{pid}/environ").read_bytes()
    return b"GATEPOST_MIGRATE" not in environ and b"p@ss" not in environ


def test_static_files_and_probes_of_each_web(fleet: Fleet) -> None:
    for name in ("web-1", "web-2"):
        web = fleet.web(name)
        assert httpx.get(f"{web.address}/healthz", headers={"Host": "10.0.0.1"}).text == "ok"
        assert web.ready() == {
            "ready": True, "database": "ok", "migrations": "ok", "valkey": "ok", "worker": "ok",
        }  # fmt: skip
        style = httpx.get(f"{web.address}/static/dashboard/css/apidocs.css")
        assert (style.status_code, style.headers.get("content-encoding")) == (200, "gzip")


def duration(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


def look(web: Web) -> float:
    """How long readiness took to look afresh: it keeps its last answer for a second."""
    time.sleep(1.1)
    return duration(web.ready)


def test_any_web_process_may_die(fleet: Fleet, crew_at: Callable[[str], Crew]) -> None:
    """Requests to the other are answered at once; its sockets go on; threads do not notice."""
    for victim, other in (("web-1", "web-2"), ("web-2", "web-1")):
        crew = crew_at(other)
        thread = crew.play(victim, "look a, look b", "look c", hold="in-a")
        wait_until(lambda c=crew, v=victim: c.called(v, "a"), what=fleet.summary)
        with following(crew, thread) as socket:
            fleet.parts[victim].kill()
            assert crew.thread(thread)["status"] == "running"
            # A busy machine is slow once; what waits for the dead one is slow each time.
            assert min(duration(lambda c=crew, t=thread: c.thread(t)) for _ in range(3)) < 2
            crew.go(victim, "in-a")
            assert frame(socket, f"thread:{thread}", beyond=2) > 2
        crew.status(thread, "succeeded")
        assert len(crew.called(victim, "a")) == 1
        fleet.parts[victim].start()
        wait_until(
            lambda v=victim: fleet.web(v).ready().get("ready"), seconds=30, what=fleet.summary
        )


def test_any_worker_may_die(fleet: Fleet, crew_at: Callable[[str], Crew]) -> None:
    """Whoever holds the thread is killed; the other goes on with it; then the other way round."""
    crew = crew_at("web-2")
    killed = set()
    for number in range(12):
        if len(killed) == 2:
            break
        name = f"worker-{number}"
        thread = crew.play(name, "look a, deliver parcel", "look c", hold="in-parcel")
        wait_until(lambda n=name: crew.called(n, "parcel"), what=fleet.summary)
        owner = fleet.ask("SELECT lease_owner FROM gp_thread WHERE id = %s", thread)[0][0]
        slot = int(owner.split(":")[2])
        parent = int(Path(f"/proc/{slot}/stat").read_text().rpartition(")")[2].split()[1])
        (victim,) = [p for n, p in fleet.parts.items() if "worker" in n and p.pid == parent]
        if victim.name in killed:
            crew.go(name, "in-parcel")
            crew.status(thread, "succeeded")
            continue
        with following(crew, thread) as socket:
            victim.kill()
            crew.go(name, "in-parcel")
            took = crew.status(thread, "succeeded", seconds=PROMISED)
            assert frame(socket, f"thread:{thread}", beyond=2) > 2
        assert took <= PROMISED
        assert len(crew.called(name, "a")) == 1  # recorded before the kill
        keys = {line.partition(" ")[2] for line in crew.called(name, "parcel")}
        assert (len(crew.called(name, "parcel")), len(keys)) == (2, 1)
        assert fleet.web("web-1").ready()["ready"]
        killed.add(victim.name)
        victim.start()
        wait_until(
            lambda v=victim: fleet.ask(
                "SELECT 1 FROM gp_worker WHERE pid = %s AND seen_at > started_at", v.pid
            ),
            seconds=30,
            what=fleet.summary,
        )
    assert killed == {"worker-1", "worker-2"}


def test_valkey_may_die(fleet: Fleet, crew_at: Callable[[str], Crew]) -> None:
    """Nothing that was accepted depends on it; readiness names it; all goes on when it is back."""
    crew = crew_at("web-1")
    before = crew.play("before", "look a", "look b", hold="in-a")
    wait_until(lambda: crew.called("before", "a"), what=fleet.summary)
    fleet.parts["valkey"].kill()
    wait_until(lambda: fleet.web("web-2").ready().get("valkey") == "down", seconds=10)
    assert fleet.web("web-2").ready()["database"] == "ok"
    crew.go("before", "in-a")
    meanwhile = crew.play("meanwhile", "look a")  # 201: it is in PostgreSQL
    crew.status(before, "succeeded")
    fleet.parts["valkey"].start()
    crew.status(meanwhile, "succeeded", seconds=PROMISED)
    for name in ("web-1", "web-2"):
        wait_until(lambda n=name: fleet.web(n).ready().get("ready"), seconds=30, what=fleet.summary)
    after = crew.play("after", "look a", "look b", hold="in-a")
    wait_until(lambda: crew.called("after", "a"), what=fleet.summary)
    with following(crew, after) as socket:
        crew.go("after", "in-a")
        assert frame(socket, f"thread:{after}", beyond=2) > 2
    crew.status(after, "succeeded")


def test_postgresql_may_die_and_come_back(fleet: Fleet, crew_at: Callable[[str], Crew]) -> None:
    crew = crew_at("web-1")
    thread = crew.play("crash", "look a", "look b", hold="in-a")
    wait_until(lambda: crew.called("crash", "a"), what=fleet.summary)
    assert fleet.postgres.process is not None
    fleet.postgres.process.send_signal(signal.SIGKILL)
    fleet.postgres.process.wait()
    for name in ("web-1", "web-2"):
        wait_until(lambda n=name: fleet.web(n).ready().get("database") == "down", seconds=10)
        assert fleet.web(name).ready()["valkey"] == "ok"
        assert min(look(fleet.web(name)) for _ in range(3)) < 4
    crew.go("crash", "in-a")
    fleet.postgres.start()
    fleet.postgres.wait()
    # Nobody takes over before the server has been up for one lease.
    crew.status(thread, "succeeded", seconds=LEASE + PROMISED)
    assert len(crew.called("crash", "b")) == 1
    for name in ("web-1", "web-2"):
        wait_until(lambda n=name: fleet.web(n).ready().get("ready"), seconds=30, what=fleet.summary)


def test_nothing_was_lost(fleet: Fleet) -> None:
    """After all that: every thread ended well, every log is whole, two workers are there."""
    statuses = fleet.ask("SELECT status, count(*) FROM gp_thread GROUP BY status")
    assert {s for s, _ in statuses} <= {"succeeded", "paused"}, statuses
    assert sum(n for _, n in statuses) >= 8
    gaps = fleet.ask(
        "SELECT th.id FROM gp_thread th JOIN gp_event e ON e.thread_id = th.id GROUP BY th.id "
        "HAVING count(*) <> th.last_seq OR max(e.seq) <> th.last_seq OR min(e.seq) <> 1"
    )
    assert gaps == []
    # A server that just came back has not heard of both yet.
    wait_until(lambda: alive(fleet) == 2, seconds=60, what=fleet.summary)
    text = fleet.summary()
    for secret in ("p@ss", "v@lkey", "v%40lkey", PASSWORD):
        assert secret not in text


def alive(fleet: Fleet) -> int:
    """How many workers gave a sign of life since this server started."""
    ((count,),) = fleet.ask(
        "SELECT count(*) FROM gp_worker WHERE stopped_at IS NULL AND seen_at > "
        "greatest(clock_timestamp() - interval '15 seconds', pg_postmaster_start_time())"
    )
    return int(count)


def test_a_backup_becomes_an_installation(fleet: Fleet, tmp_path: Path) -> None:
    """By the owner of the tables, over TLS; the runtime role gets its rights."""
    backup = str(tmp_path / "backup")
    fleet.manage("backup", "--to", backup, service="migrate")
    with psycopg.connect(fleet.postgres.address(), autocommit=True) as server:
        server.execute(f"CREATE DATABASE restored OWNER {OWNER}")
    key = {"GATEPOST_ANCHOR_KEY": (fleet.folder / "anchor-key").read_text()}
    fleet.manage(
        *("restore", backup),
        service="migrate",
        database="restored",
        GATEPOST_DATA=str(tmp_path / "data"),
        **key,
    )
    for table in ("gp_thread", "gp_event", "gp_checkpoint", "gp_decision", "gp_membership"):
        counted = f"SELECT count(*), md5(string_agg(x::text, '' ORDER BY x::text)) FROM {table} x"
        assert fleet.ask(counted, database="restored") == fleet.ask(counted), table
    ((may, may_not),) = fleet.ask(
        "SELECT has_table_privilege(%s, 'gp_thread', 'UPDATE'), "
        "has_table_privilege(%s, 'gp_event', 'UPDATE')",
        RUNTIME,
        RUNTIME,
        database="restored",
    )
    assert (may, may_not) == (True, False)
