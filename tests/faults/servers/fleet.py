"""A fleet without containers: the very commands of docker-compose.yml, on servers of its own.

PostgreSQL and Valkey speak TLS on TCP ports and want passwords; web and workers use the runtime
role; the address of the database lists two hosts, the first of which is never there.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg

from dashboard.operate.embedded.postgres import Postgres
from dashboard.operate.embedded.process import processes
from dashboard.operate.embedded.process.folders import Folders, folders, prepare
from dashboard.operate.embedded.process.library import valkey_program
from tests.faults.bench import AGENTS, wait_until
from tests.faults.embedded.helpers import ROOT, clean_environment, free_port
from tests.house.deploy.containers import compose, filled, image_command

LEASE, SWEEP = 5.0, 0.5
OWNER, RUNTIME = "gatepost_owner", "gatepost_runtime"
PASSWORDS = {OWNER: "owner-p@ss/word", RUNTIME: "runtime-p@ss/word", "valkey": "v@lkey/pass"}
SERVICES = compose()["services"]


class Served(Postgres):
    """PostgreSQL for clients elsewhere: TLS and passwords on a port."""

    def __init__(self, data: Path, port: int, certificate: Path) -> None:
        options = (
            *("listen_addresses=127.0.0.1", f"port={port}", "max_connections=100", "fsync=off"),
            *("ssl=on", f"ssl_cert_file={certificate}", f"ssl_key_file={certificate}.key"),
        )
        super().__init__(folders(data), options=options)
        self.port = port

    def _write_access_rules(self, users: Sequence[str]) -> None:
        super()._write_access_rules(users)
        with (self.places.postgres / "pg_hba.conf").open("a") as file:
            file.write("hostssl all all 127.0.0.1/32 scram-sha-256\n")

    def address(self, database: str = "gatepost") -> str:
        """For the superuser, on the socket."""
        return f"{super().address(database)} port={self.port}"


def certificate(folder: Path, group: int) -> Path:
    """One for localhost that is its own authority, readable by the servers' account."""
    path = folder / "server.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", f"{path}.key", "-out", str(path)),
        ],
        check=True,
        capture_output=True,
    )
    key = Path(f"{path}.key")
    if os.geteuid() == 0:
        os.chown(key, 0, group)
    key.chmod(0o640 if os.geteuid() == 0 else 0o600)
    path.chmod(0o644)
    return path


@dataclass
class Part:
    """One process of the fleet, to be killed and started again."""

    name: str
    command: list[str]
    environment: dict[str, str]
    log: Path
    account: Any = None
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = processes.start(
            self.command,
            log=self.log,
            env=self.environment,
            cwd=ROOT if self.account is None else self.log.parent,
            account=self.account,
        )

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        """kill -9, the whole group: a container that is gone."""
        if self.process is not None:
            processes.signal_group(self.pid, signal.SIGKILL)
            self.process.wait()


@dataclass
class Web(Part):
    """A web process; what `hazards.web.Person` needs to know of one."""

    address: str = ""

    def ready(self) -> dict[str, Any]:
        """What readiness says; {} while it does not answer."""
        try:
            payload: dict[str, Any] = httpx.get(
                f"{self.address}/readyz", timeout=10, verify=False
            ).json()
        except (httpx.TransportError, ValueError):
            return {}
        return payload


@dataclass
class Fleet:
    """Everything that runs, and how it is told where the rest is."""

    data: Path
    folder: Path
    parts: dict[str, Part] = field(default_factory=dict)

    def __post_init__(self) -> None:
        places = folders(self.data)
        prepare(places)
        self.certificate = certificate(self.data, places.account.gid if places.account else 0)
        self.postgres = Served(self.data, free_port(), self.certificate)
        self.valkey_port, self.hot_port, self.nobody_port = free_port(), free_port(), free_port()
        for name, password in (*PASSWORDS.items(), ("key", "k" * 50)):
            (self.folder / f"{name}.secret").write_text(f"{password}\n")
        (self.folder / "encryption.secret").write_text(f"{b64encode(b'e' * 32).decode()}\n")
        self._valkey("valkey", self.valkey_port, places, places.valkey)
        self._valkey("hot", self.hot_port, places, places.hot)
        for number in (1, 2):
            self._web(f"web-{number}")
            self._worker(f"worker-{number}")

    # ---- how each part is told ----
    def _environment(self, service: str, **more: str) -> dict[str, str]:
        """The service's own variables, with addresses and secrets of this fleet."""
        values: dict[str, str] = filled(SERVICES[service]["environment"], {})
        tls = f"sslmode=verify-full&sslrootcert={self.certificate}"
        at = f"localhost:{self.nobody_port},localhost:{self.postgres.port}/gatepost"
        url = f"postgresql://{{}}@{at}?{tls}&target_session_attrs=read-write"
        secret = str(self.folder / "{}.secret")
        payload = {
            "DATABASE_URL": url.format(RUNTIME),
            "DATABASE_PASSWORD_FILE": secret.format(RUNTIME),
            "REDIS_URL": f"rediss://localhost:{self.valkey_port}/0?ssl_ca_certs={self.certificate}",
            "REDIS_PASSWORD_FILE": secret.format("valkey"),
            "GATEPOST_HOT_URL": f"rediss://localhost:{self.hot_port}/0?ssl_ca_certs={self.certificate}",
            "GATEPOST_HOT_PASSWORD_FILE": secret.format("valkey"),
            "GATEPOST_SECRET_KEY_FILE": secret.format("key"),
            "GATEPOST_ENCRYPTION_KEYS_FILE": secret.format("encryption"),
        }
        if "GATEPOST_MIGRATE_DATABASE_URL" in values:
            payload["GATEPOST_MIGRATE_DATABASE_URL"] = url.format(OWNER)
            payload["GATEPOST_MIGRATE_DATABASE_PASSWORD_FILE"] = secret.format(OWNER)
        return (
            clean_environment()
            | values
            | payload
            | {
                "GATEPOST_DATA": str(self.folder),
                "GATEPOST_STATIC": str(self.folder / "static"),
                "GATEPOST_ALLOWED_HOSTS": "127.0.0.1",
                "GATEPOST_LEASE_SECONDS": str(LEASE),
                "GATEPOST_SWEEP_SECONDS": str(SWEEP),
                # No poll in the time of a test: what a page shows came by a hint.
                "GATEPOST_POLL_SECONDS": "600",
            }
            | more
        )

    @staticmethod
    def _program(command: list[str]) -> list[str]:
        if command[0] == "python":
            return [sys.executable, *command[1:]]
        return [sys.executable, "-m", *command]

    def _valkey(self, service: str, port: int, places: Folders, folder: Path) -> None:
        """The server of a service, and what speaks TLS for it."""
        conf = folder / "password.conf"
        conf.write_text(f'requirepass "{PASSWORDS["valkey"]}"\n')
        conf.chmod(0o444)
        command = filled(SERVICES[service]["command"], {})
        server = [str(conf) if word == "/run/secrets/valkey_conf" else word for word in command]
        assert server[0] == "valkey-server"
        assert str(conf) in server
        self.parts[service] = Part(
            service,
            [
                *(str(valkey_program(places)), *server[1:], "--bind", "127.0.0.1"),
                *("--port", str(behind := free_port()), "--dir", str(folder)),
            ],
            dict(os.environ),
            places.logs / f"{service}.log",
            places.account,
        )
        name = f"tls of {service}"
        self.parts[name] = Part(
            name,
            [
                *(sys.executable, str(Path(__file__).with_name("tls.py"))),
                *(str(port), str(behind), str(self.certificate)),
            ],
            dict(os.environ),
            self.folder / f"{name}.log",
        )

    def _web(self, name: str) -> None:
        port = free_port()
        command = image_command()
        for flag, ours in (("--host", "127.0.0.1"), ("--port", str(port))):
            command[command.index(flag) + 1] = ours
        self.parts[name] = Web(
            name,
            self._program(command),
            self._environment("web"),
            self.folder / f"{name}.log",
            address=f"http://127.0.0.1:{port}",
        )

    def _worker(self, name: str) -> None:
        command = filled(SERVICES["worker"]["command"], {"GATEPOST_SLOTS": "2"})
        # Each container has a host name of its own; here they share one.
        self.parts[name] = Part(
            name,
            [*self._program(command), "--hostname", f"{name}@%h"],
            self._environment(
                "worker",
                GATEPOST_AGENTS="own_agents",
                PYTHONPATH=f"{ROOT}{os.pathsep}{self.folder}",
                GATEPOST_PULSE=str(self.folder / f"{name}.pulse"),
            ),
            self.folder / f"{name}.log",
        )

    # ---- life ----
    def manage(
        self, *command: str, service: str = "web", database: str = "gatepost", **more: str
    ) -> str:
        """A command of `manage.py` in the surroundings of a service, on one of the databases."""
        environment = self._environment(service, **more)
        for name in ("DATABASE_URL", "GATEPOST_MIGRATE_DATABASE_URL"):
            if name in environment:
                environment[name] = environment[name].replace("/gatepost?", f"/{database}?")
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        """Servers, roles, tables, then web and workers, as compose orders them."""
        shutil.copy(AGENTS / "own_agents.py", self.folder)
        self.postgres.start()
        self.parts["valkey"].start()
        self.postgres.wait()
        self.postgres.create_database()
        with psycopg.connect(self.postgres.address(), autocommit=True) as server:
            password = PASSWORDS[OWNER]
            server.execute(f"CREATE ROLE {OWNER} LOGIN CREATEROLE PASSWORD '{password}'")
            server.execute(f"ALTER DATABASE gatepost OWNER TO {OWNER}")
        migrate = SERVICES["migrate"]["command"]
        assert migrate[:2] == ["python", "manage.py"]
        self.manage(*migrate[2:], service="migrate")
        self.manage("collectstatic", "--no-input", "--verbosity", "0")
        for part in self.parts.values():
            if part.process is None:
                part.start()
        for name in ("web-1", "web-2"):
            wait_until(
                lambda n=name: self.web(n).ready().get("ready"), seconds=60, what=self.summary
            )

    def stop(self) -> None:
        for part in self.parts.values():
            part.kill()
        self.postgres.stop()

    def web(self, name: str) -> Web:
        result = self.parts[name]
        assert isinstance(result, Web)
        return result

    def summary(self) -> str:
        """The last lines of everybody."""
        return "\n".join(
            f"{part.name}: {part.log.read_text(errors='replace')[-1500:]}"
            for part in self.parts.values()
            if part.log.exists()
        )

    # ---- the truth, beside the product ----
    def ask(self, sql: str, *params: Any, database: str = "gatepost") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.postgres.address(database)) as server:
            return server.execute(sql, params).fetchall()  # type: ignore[arg-type]
