"""Web and workers behind PgBouncer, as docs/howto/deploy.md says: where one is installed."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faults.bench import wait_until
from tests.faults.embedded.helpers import ROOT, free_port
from tests.faults.web import PASSWORD

from .fleet import PASSWORDS, RUNTIME, Fleet, Part
from .test_fleet import PEOPLE, Crew, crew_at  # noqa: F401

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
DEPLOY = (ROOT / "docs/howto/deploy.md").read_text()
CONFIGURATION = re.search(r"^```ini\n(; pgbouncer.ini\n.*?)^```$", DEPLOY, re.M | re.S)
ROLE_SETTINGS = re.search(r"^```sql\n(-- once.*?)^```$", DEPLOY, re.M | re.S)


class Behind(Fleet):
    """The fleet, with web and workers on PgBouncer in transaction mode; migrations go past it."""

    mode = "transaction"
    bouncer_port = 0
    more: dict[str, str] = {}

    def _environment(self, service: str, **more: str) -> dict[str, str]:
        self.bouncer_port = self.bouncer_port or free_port()
        result = super()._environment(service, **more) | self.more
        if service != "migrate":
            at = f"127.0.0.1:{self.bouncer_port}"
            result["DATABASE_URL"] = f"postgresql://{RUNTIME}@{at}/gatepost"
        return result

    def manage(self, *command: str, **more: str) -> str:
        """What the page says about the role comes right after the role, before connections."""
        message = super().manage(*command, **more)
        if "migrate" in command:
            assert ROLE_SETTINGS is not None
            with psycopg.connect(self.postgres.address(), autocommit=True) as server:
                server.execute(ROLE_SETTINGS[1].encode())
        return message

    def bounce(self) -> Part:
        """PgBouncer as the page configures it, for this server and these ports."""
        assert PROGRAM is not None
        assert CONFIGURATION is not None
        home = Path(tempfile.mkdtemp(prefix="gp-bouncer-", dir="/tmp"))
        users = home / "userlist.txt"
        users.write_text(f'"{RUNTIME}" "{PASSWORDS[RUNTIME]}"\n')
        text = CONFIGURATION[1]
        for key, value in {
            "gatepost": f"host=localhost port={self.postgres.port} dbname=gatepost",
            "listen_port": str(self.bouncer_port),
            "auth_file": str(users),
            "server_tls_ca_file": str(self.certificate),
        }.items():
            text, count = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
            assert count == 1, key
        if self.mode == "session":  # each connection of ours keeps one of the server
            text = text.replace("pool_mode = transaction", "pool_mode = session")
            text = text.replace("default_pool_size = 20", "default_pool_size = 80")
        (home / "pgbouncer.ini").write_text(text)
        command = [PROGRAM, str(home / "pgbouncer.ini")]
        if os.geteuid() == 0:  # which it refuses to be
            nobody = pwd.getpwnam("nobody")
            for path in (home, *home.iterdir()):
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
            command[1:1] = ["--user", "nobody"]
        part = Part("pgbouncer", command, dict(os.environ), self.folder / "pgbouncer.log")
        self.parts = {"valkey": self.parts["valkey"], "pgbouncer": part} | self.parts
        return part


@pytest.fixture(scope="module", params=["transaction", "session"])
def fleet(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Behind]:
    if PROGRAM is None:
        pytest.skip("no pgbouncer here")
    completed = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    version = tuple(map(int, re.findall(r"\d+", completed.stdout)[:2]))
    home = Path(tempfile.mkdtemp(prefix="gp-", dir="/tmp"))
    home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    if version < (1, 21):  # it keeps no statements for its clients
        Behind.more = {"GATEPOST_PREPARE": "false"}
    made = Behind(home / "data", tmp_path_factory.mktemp("bounced"))
    made.mode = request.param
    try:
        made.bounce()
        made.start()
        made.manage("shell", "--command", PEOPLE % PASSWORD)
        yield made
    finally:
        made.stop()
        shutil.rmtree(home, ignore_errors=True)


def test_threads_work_wait_and_end_behind_pgbouncer(
    fleet: Behind,
    crew_at: Callable[[str], Crew],  # noqa: F811
) -> None:
    crew, other = crew_at("web-1"), crew_at("web-2")
    threads = [
        crew.play(f"t{n}", "look a", "think b", "look c", "ask d", "look e") for n in range(8)
    ]
    for thread in threads:
        crew.status(thread, "waiting", seconds=60)
    for thread in threads:
        decide(other, thread)
    for thread in threads:
        crew.status(thread, "succeeded", seconds=60)
    # Each web and each slot has asked through few connections, and nobody missed a statement.
    used = fleet.ask("SELECT count(*) FROM pg_stat_activity WHERE usename = %s", RUNTIME)[0][0]
    assert 1 <= used <= (20 if fleet.mode == "transaction" else 80)
    for part in fleet.parts.values():
        text = part.log.read_text(errors="replace")
        assert not re.search(r"prepared statement .* (does not|already) exist", text), part.name
    # Time-outs hold though PgBouncer drops what clients send with the connection.
    payload = fleet.manage(
        "shell",
        "--command",
        "from django.db import connection as c\nk = c.cursor()\n"
        "for n in ('lock_timeout', 'statement_timeout', 'TimeZone'):\n"
        "    k.execute(f'SHOW {n}'); print('said', k.fetchone()[0])",
    )
    assert re.findall(r"said (\S+)", payload) == ["3s", "30s", "UTC"]
    assert "intact" in fleet.manage("verify").lower()


def decide(crew: Crew, thread: str) -> None:
    rows: list[dict[str, Any]] = crew.manager.get("/approvals/").json()["results"]
    (result,) = [row for row in rows if row["thread"] == thread]
    payload = crew.manager.get(f"/approvals/{result['id']}/").json()
    answer = crew.manager.post(
        f"/approvals/{result['id']}/decide/",
        {"verdict": "approve", "proposal_hash": payload["proposal_hash"]},
    )
    assert answer.status_code == 200, answer.text


def test_lost_workers_are_noticed_behind_it(
    fleet: Behind,
    crew_at: Callable[[str], Crew],  # noqa: F811
) -> None:
    crew = crew_at("web-1")
    thread = crew.play("killed", "look a", "look b", "look c", hold="in-b")
    wait_until(lambda: crew.called("killed", "b"), seconds=30, what=fleet.summary)
    fleet.parts["worker-1"].kill()
    fleet.parts["worker-2"].kill()
    crew.go("killed", "in-b")
    fleet.parts["worker-1"].start()
    crew.status(thread, "succeeded", seconds=60)
    assert len(crew.called("killed", "a")) == 1
    assert "lease.taken_over" in {
        kind for (kind,) in fleet.ask("SELECT kind FROM gp_event WHERE thread_id = %s", thread)
    }
