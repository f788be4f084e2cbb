"""What the chaos strikes: servers, web processes, workers, a bank; all real, all in one folder.

With hosts of their own (machines.py) workers and web processes have a folder and a network each.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from dashboard.operate.embedded.postgres import Postgres
from dashboard.operate.embedded.process import processes
from dashboard.operate.embedded.process.folders import folders, prepare
from dashboard.operate.embedded.valkey import HotStore, Valkey
from tests.faults.embedded.helpers import ROOT, free_port, responds
from tests.faults.servers.machine import Machine
from tests.faults.servers.network import Network, entered
from tests.faults.servers.proxy import Proxy

from .outcomes import payables

if TYPE_CHECKING:
    from .machines import Machines

# Shorter than they ship, so that more of everything falls into the time.
LEASE, SWEEP, UNDO_WINDOWS = 3.0, 0.25, "0,0,2"
WORKERS, SLOTS = 3, 2
READY_SECONDS = 120.0
OPENING, BANK_SECONDS = "100000000.00", 0.03
PASSWORD = "correct horse battery"
PEOPLE = ("operator", "manager")
COUNTS = "counts.jsonl"  # lines of the counters of trees and hot threads
OUTSIDE = ("GATEPOST_", "DJANGO_", "DATABASE_URL", "REDIS_URL", "CELERY_")


def environment(data: Path, bank: str = "") -> dict[str, str]:
    """What every process of the ground is told, and nothing of another Gatepost."""
    payload = {name: value for name, value in os.environ.items() if not name.startswith(OUTSIDE)}
    return payload | {
        "DJANGO_SETTINGS_MODULE": "dashboard.settings",
        "GATEPOST_DATA": str(data),
        # Those that ship are always there.
        "GATEPOST_AGENTS": "tests.faults.chaos.tree_agents,tests.faults.chaos.hot_agents",
        **({"GATEPOST_BANK_URL": bank} if bank else {}),
        "CHAOS_COUNTS": str(data / COUNTS),
        "GATEPOST_LEASE_SECONDS": str(LEASE),
        "GATEPOST_SWEEP_SECONDS": str(SWEEP),
        "GATEPOST_UNDO_WINDOWS": UNDO_WINDOWS,
        "GATEPOST_LOG_LEVEL": "WARNING",
        "PYTHONPATH": str(ROOT),
        "CELERY_SKIP_CHECKS": "1",
    }


@dataclass
class Location:
    """Where a worker or a web process runs: what it is told, and its machine where it has one."""

    name: str
    env: dict[str, str]
    log: Path
    machine: Machine | None = None

    @property
    def network(self) -> Network | None:
        return self.machine.network if self.machine else None


class Part:
    """A process that is started again whenever it is gone."""

    def __init__(self, location: Location, argv: list[str], env: dict[str, str]) -> None:
        self.location, self.name, self.log = location, location.name, location.log
        self.argv, self.env = argv, location.env | env
        self.starts = 0
        self.start()

    def start(self) -> None:
        """From the main thread only, as `processes.start` says."""
        self.starts += 1
        with entered(self.location.network):
            self.process = processes.start(self.argv, log=self.log, env=self.env, cwd=ROOT)

    @property
    def machine(self) -> Machine:
        """Of hosts of their own only."""
        assert self.location.machine is not None
        return self.location.machine

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def signal(self, number: int) -> None:
        processes.signal_group(self.pid, number)

    def kill(self) -> None:
        """kill -9 of the group."""
        self.signal(signal.SIGKILL)
        self.process.wait()


class Worker(Part):
    """A Celery worker with prefork slots."""

    def __init__(self, location: Location) -> None:
        argv = [
            *(sys.executable, "-m", "workers"),
            *("--concurrency", str(SLOTS), "--hostname", f"{location.name}@here"),
        ]
        super().__init__(location, argv, {"GATEPOST_ROLE": "worker"})

    def slots(self) -> list[int]:
        """The processes of the pool."""
        try:
            parts = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        except OSError:
            return []
        return [int(pid) for pid in parts if processes.alive(int(pid))]


class Web(Part):
    """A web process, always on the same port."""

    def __init__(self, location: Location) -> None:
        port = reached = free_port()
        if location.machine is not None:
            front = Proxy(port, connects=location.network)
            location.machine.ways["people"], reached = front, front.port
        self.address = f"http://127.0.0.1:{reached}"
        argv = [
            *(sys.executable, "-m", "uvicorn", "dashboard.asgi:application"),
            *("--host", "127.0.0.1", "--port", str(port), "--loop", "uvloop"),
            *("--lifespan", "on", "--log-level", "warning", "--no-access-log"),
        ]
        # Its people come from one address and ask as fast as they can.
        limits = {"GATEPOST_API_PER_ACCOUNT": "0", "GATEPOST_API_PER_ADDRESS": "0"}
        limits["GATEPOST_API_PER_PERSON"] = "0"
        super().__init__(location, argv, limits | {"GATEPOST_ROLE": "web"})

    def answers(self) -> bool:
        return responds(f"{self.address}/healthz")


class Bank(Part):
    """The test bank that ships; nobody strikes it, since it is the witness."""

    def __init__(self, folder: Path) -> None:
        self.port = port = free_port()
        self.address, self.ledger = f"http://127.0.0.1:{port}", folder / "bank.jsonl"
        # Without site-packages: it needs none of them.
        argv = [
            *(sys.executable, "-S", "-m", "gatepost_agents.testbank"),
            *("--ledger", str(self.ledger), "--port", str(port), "--opening", OPENING),
        ]
        env = environment(folder) | {"PYTHONPATH": str(ROOT / "agents")}
        super().__init__(Location("bank", env, folder / "bank.log"), argv, {})

    def answers(self) -> bool:
        return responds(f"{self.address}/health")


def pay_before(bank: str, count: int) -> None:
    """What a bank has paid when the chaos begins: an invoice of every fourth task."""

    def post(op: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Idempotency-Key": f"{payables.BEFORE_KEY}/{op}"}
        request = urllib.request.Request(f"{bank}/{op}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            payload: dict[str, Any] = json.load(answer)
        return payload

    payments = [old for task in range(1, count + 1) if (old := payables.before(task))]
    total = payables.written(payables.total(payments))
    body = {"total": total, "currency": "EUR", "payments": payments, "reference": "before"}
    post("pay", {"reservation": post("reserve", body)["reservation"]})


def slow_down(bank: str) -> None:
    """Let a bank take its time, so that a caller can be killed while it works."""
    body = {"kind": "slow", "times": 10**9, "seconds": BANK_SECONDS}
    request = urllib.request.Request(f"{bank}/faults", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=30):
        pass


class Look:
    """A connection beside the product that outlives restarts of the server."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._connection: psycopg.Connection[Any] | None = None

    def rows(self, sql: str, *params: Any) -> list[tuple[Any, ...]] | None:
        """The rows; None while the server does not answer."""
        try:
            if self._connection is None:
                self._connection = psycopg.connect(
                    self._address, autocommit=True, connect_timeout=5
                )
            return self._connection.execute(sql, params).fetchall()  # type: ignore[arg-type]
        except psycopg.Error:
            self.close()
            return None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def wait_until(true: Any, *, what: str, seconds: float = READY_SECONDS) -> None:
    """Ask until the answer is true; TimeoutError otherwise."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(0.05)


class Ground:
    """Everything that stands, and the folder it stands in."""

    postgres: Postgres
    valkey: Valkey
    hot: HotStore
    webs: list[Web]
    bank: Bank
    workers: list[Worker]

    def __init__(self, home: Path, machines: Machines | None = None) -> None:
        self.home, self.data, self.machines = home, home / "data", machines
        self.places = folders(self.data)
        prepare(self.places)
        self.gave_up = 0

    @property
    def address(self) -> str:
        """For psycopg."""
        return self.postgres.address()

    @property
    def environment(self) -> dict[str, str]:
        """What a command of the product beside it is told."""
        return environment(self.data) | (self.machines.files if self.machines else {})

    def location(self, name: str) -> Location:
        """A location for one process."""
        env = environment(self.data, self.bank.address)
        log = self.places.logs / f"{name}.log"
        if self.machines is None:
            return Location(name, env, log)
        machine = self.machines.machine(
            name, self.home / "hosts" / name, self.postgres, self.valkey, self.hot, self.bank.port
        )
        outside = {
            "GATEPOST_OUTBOX": str(self.data / "outbox"),
            "GATEPOST_PUBLISHED": str(self.data / "published"),
        }
        return Location(name, env | outside | self.machines.environment(machine), log, machine)

    def listening(self, look: Look) -> list[Worker]:
        """Workers that live and have just given a sign of life, which they do every 5 s."""
        seen = look.rows(
            "SELECT pid FROM gp_worker WHERE stopped_at IS NULL "
            "AND seen_at > clock_timestamp() - interval '8 seconds'"
        )
        known = {pid for (pid,) in seen or ()}
        return [worker for worker in self.workers if worker.alive and worker.pid in known]

    def tend(self) -> None:
        """What a supervisor does: start again what has ended by itself."""
        for part in (*self.workers, *self.webs):
            if not part.alive:
                self.gave_up += 1
                part.signal(signal.SIGKILL)  # what its pool may have left
                part.start()


def manage(ground: Ground, *command: str) -> str:
    """A command of `manage.py` on this ground; its output."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(ROOT / "manage.py"), *command],
        env=ground.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


SET_UP = """
from django.contrib.auth import get_user_model
from checkpoints import store
place = store.create_workspace("chaos", actor="user:0")
for name, role in (("operator", "operator"), ("manager", "reviewer")):
    user = get_user_model().objects.create_user(name, password={password!r})
    store.grant(place, user.pk, role, actor="user:0")
"""


@contextmanager
def ground(*, keep: bool = False, hosts: int = 1) -> Iterator[Ground]:
    """Start everything and give it; nothing is left afterwards, with `keep` the folder.

    With several hosts each worker and each of two web processes is one.
    """
    home = Path(tempfile.mkdtemp(prefix="gp-chaos-", dir="/tmp"))
    home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    with ExitStack() as stack:
        if not keep:
            stack.callback(shutil.rmtree, home, ignore_errors=True)
        machines = None
        if hosts > 1:
            from .machines import own_machines  # with the libraries of object stores

            machines = stack.enter_context(own_machines(home, hosts))
        made = Ground(home, machines)
        made.postgres, made.valkey = Postgres(made.places), Valkey(made.places)
        made.hot = HotStore(made.places)
        for server in (made.postgres, made.valkey, made.hot):
            server.start()
            stack.callback(server.stop)
        made.postgres.wait()
        made.valkey.wait()
        made.hot.wait()
        made.postgres.create_database()
        manage(made, "migrate", "--no-input", "--verbosity", "0", "--skip-checks")
        manage(made, "shell", "--command", SET_UP.format(password=PASSWORD))
        made.bank = Bank(home)
        stack.callback(lambda: made.bank.kill())
        made.webs, made.workers = [], []
        for name in machines.webs if machines else ("web",):
            made.webs.append(web := Web(made.location(name)))
            stack.callback(web.kill)
        for number in range(1, (hosts if machines else WORKERS) + 1):
            made.workers.append(worker := Worker(made.location(f"worker-{number}")))
            stack.callback(worker.kill)
        look = Look(made.address)
        stack.callback(look.close)
        wait_until(made.bank.answers, what="an answer of the bank")
        for web in made.webs:
            wait_until(web.answers, what=f"an answer of {web.name}")
        if machines is not None:
            machines.check_clocks({web.name: web.address for web in made.webs})
        workers = len(made.workers)
        wait_until(lambda: len(made.listening(look)) == workers, what="a sign of life of all")
        yield made
