"""From zero: no worker lives, work waits, the webhook starts one, it works and ends when idle."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from pytest_django import DjangoDbBlocker

from approvals.notify import endpoints
from approvals.notify.endpoints import Wanted
from checkpoints import store
from dashboard.operate.embedded.process import processes
from tests.conftest import real_database
from tests.faults.bench import AGENTS, ROOT, SHORT, Field, ask, wait_until
from tests.faults.embedded.helpers import free_port
from tests.faults.services.test_notify import LOOPBACK, loopback
from tests.support.site import Site, started_site

__all__ = ["loopback"]  # a fixture

PAGE = (ROOT / "docs/howto/from-zero.md").read_text()
FILES = dict(re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```', PAGE, re.MULTILINE | re.DOTALL))
SECRET = f"whsec_{base64.b64encode(b'0' * 32).decode()}"


class Fleet:
    """A web process, a standby, and workers that are started and end by themselves."""

    def __init__(self, site: Site, field: Field, environment: dict[str, str]) -> None:
        self.site, self.field, self.environment = site, field, environment

    @contextmanager
    def started(self, name: str, *command: str, **more: str) -> Iterator[subprocess.Popen[bytes]]:
        """A process with its log; killed with all that it started at the end."""
        process = processes.start(
            [sys.executable, *command],
            log=self.log(name),
            env=os.environ | self.environment | more,
            cwd=self.field.folder,
        )
        try:
            yield process
        finally:
            processes.signal_group(process.pid, 9)
            process.wait()

    def log(self, name: str) -> Path:
        """Where a process writes to."""
        return self.field.folder / f"{name}.txt"

    def wait_written(self, name: str, text: str, times: int) -> None:
        """Return when a process has written this so often."""
        wait_until(lambda: self.text(name).count(text) == times, what=lambda: self.text(name))

    def text(self, name: str) -> str:
        """What a process has written."""
        return self.log(name).read_text()


@pytest.fixture
def fleet(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path: Path
) -> Iterator[Fleet]:
    """A Gatepost whose agents were announced by a worker that has ended by itself."""
    shutil.copy(AGENTS / "own_agents.py", tmp_path)
    (tmp_path / "starter.py").write_text(FILES["starter.py"])
    environment = (
        SHORT
        | LOOPBACK
        | {
            "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
            "GATEPOST_ROLE": "worker",
            "GATEPOST_AGENTS": "own_agents",
            "GATEPOST_SHIPPED_AGENTS": "false",
            "GATEPOST_LOG_LEVEL": "INFO",
        }
    )
    with (
        django_db_blocker.unblock(),
        real_database("gatepost_from_zero"),
        started_site(slots=0, **LOOPBACK) as site,
    ):
        workspace = store.create_workspace("from zero", actor="user:0")
        made = Fleet(site, Field(tmp_path, workspace), environment)
        command = ("-m", "workers", "--concurrency", "1", "--idle-exit", "1")
        with made.started("first", *command) as worker:
            assert worker.wait(60) == 0, made.text("first")
        assert "worker.idle" in made.text("first")
        yield made


def alive(*, slots: bool = True) -> int:
    """How many workers live; those with slots, or standbys."""
    ((n,),) = ask(
        "SELECT count(*) FROM gp_worker WHERE stopped_at IS NULL AND (slots > 0) = %s", slots
    )
    return int(n)


def seconds_between(thread: Any, first: str, then: str) -> float:
    """Seconds from the first event of a kind to the first of another one."""
    ((result,),) = ask(
        "SELECT extract(epoch FROM (SELECT min(at) FROM gp_event WHERE thread_id = %s "
        "AND kind = %s) - (SELECT min(at) FROM gp_event WHERE thread_id = %s AND kind = %s))",
        *(thread, then, thread, first),
    )
    return float(result)


@pytest.mark.slow
@pytest.mark.requirement("E05")
@pytest.mark.requirement("F14")
@pytest.mark.usefixtures("loopback")
def test_work_starts_a_worker_and_idleness_ends_it(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    wanted = Wanted(name="starter", target=f"http://127.0.0.1:{port}/", events=["workers.wanted"])
    workspace = fleet.field.workspace
    _, secret = endpoints.make(workspace, "webhook", wanted, actor="user:0")
    worker = ("-m", "workers", "--concurrency", "1", "--idle-exit", "1", "--queues")
    starting = {"WEBHOOK_SECRET": secret, "STARTER_PORT": str(port)}
    with (
        fleet.started("standby", "-m", "workers.standby") as standby,
        fleet.started("starter", "starter.py", sys.executable, *worker, **starting),
    ):
        wait_until(lambda: "listening" in fleet.text("starter"), what="the starter")
        wait_until(lambda: alive(slots=False) == 1, what=lambda: fleet.text("standby"))
        with urllib.request.urlopen(f"{fleet.site.url}/readyz") as answer:
            assert json.load(answer)["worker"] == "ok"
        assert alive() == 0
        took = []
        ended = "a worker for gatepost ended with code 0"
        for n in (1, 2):
            # The second one comes within the time for which the first news is not repeated.
            case = fleet.field.play("look a", "look b")
            case.wait_status("succeeded")
            took.append(seconds_between(case.id, "thread.started", "lease.acquired"))
            fleet.wait_written("starter", ended, n)
            assert alive() == 0
        assert fleet.text("starter").count("started a worker") == 2, fleet.text("starter")
        # Its time comes while nobody but the standby is there.
        asleep = fleet.field.play("look a", "sleep 12", "look b")
        asleep.wait_status("sleeping")
        fleet.wait_written("starter", ended, 3)
        assert asleep.row().status == "sleeping"
        asleep.wait_status("succeeded")
        assert fleet.text("starter").count("started a worker") == 4
        standby.terminate()
        assert standby.wait(10) == 0
        assert alive(slots=False) == 0
    assert "unknown" not in fleet.text("standby")
    with capsys.disabled():
        shown = ", ".join(f"{one:.1f} s" for one in took)
        print(f"\nfrom zero: queued to the lease of its first step in {shown}")


@pytest.mark.requirement("F14")
def test_the_starter_takes_nothing_that_gatepost_did_not_sign(tmp_path: Path) -> None:
    (tmp_path / "starter.py").write_text(FILES["starter.py"])
    port = free_port()
    marker = "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()"
    process = subprocess.Popen(
        [sys.executable, "starter.py", sys.executable, "-c", marker],
        cwd=tmp_path,
        env=os.environ | {"WEBHOOK_SECRET": SECRET, "STARTER_PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None

    def post(body: str, headers: dict[str, str]) -> int:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/", data=body.encode(), headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            return refused.code

    def signed(body: str, *, ago: float = 0, secret: str = SECRET) -> dict[str, str]:
        stamp = str(int(time.time() - ago))
        key = base64.b64decode(secret.removeprefix("whsec_"))
        mac = hmac.new(key, f"msg_1.{stamp}.{body}".encode(), hashlib.sha256).digest()
        signature = f"v1,{base64.b64encode(mac).decode()}"
        return {"webhook-id": "msg_1", "webhook-timestamp": stamp, "webhook-signature": signature}

    try:
        assert "listening" in process.stdout.readline()
        body = json.dumps({"type": "workers.wanted", "data": {"queue": "stolen; touch x"}})
        other = f"whsec_{base64.b64encode(b'1' * 32).decode()}"
        refused = [
            post(body, {}),
            post(body.replace("stolen", "changed"), signed(body)),
            post(body, signed(body, ago=3600)),
            post(body, signed(body, secret=other)),
            post(body, signed(body) | {"webhook-id": "msg_2"}),
            post(body, signed(body) | {"webhook-signature": "v1,é".encode().decode("latin-1")}),
        ]
        assert refused == [401] * len(refused)
        other_kind = body.replace("workers.wanted", "thread.failed")
        assert post(other_kind, signed(other_kind)) == 204
        assert [path.name for path in tmp_path.iterdir()] == ["starter.py"]
        assert post(body, signed(body)) == 204
        wait_until((tmp_path / "stolen; touch x").exists, what="the one that is signed")
        assert not (tmp_path / "x").exists()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.requirement("F14")
def test_manifests_name_figures_and_options_that_are_there(real_db: str) -> None:
    from dashboard.live.metrics import exposition

    (scaled,) = yaml.safe_load_all(FILES["keda.yaml"])
    assert scaled["kind"] == "ScaledObject"
    (trigger,) = scaled["spec"]["triggers"]
    text = exposition().decode()
    named = re.findall(r'(gatepost_\w+)\{queue="gatepost"\}', trigger["metadata"]["query"])
    assert len(named) == 2
    for name in (*named, *re.findall(r"`(gatepost_queue_\w+)\{queue\}`", PAGE)):
        assert f'{name}{{queue="gatepost"}} 0.0' in text, name
    parts = list(yaml.safe_load_all(FILES["knative.yaml"]))
    assert [part["kind"] for part in parts] == ["Service", "CronJob", "Role"]
    (container,) = parts[1]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    _, *worker = container["command"]
    done = subprocess.run(
        [sys.executable, *worker, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert PAGE.count("**Not tried on a cluster.**") == 2
