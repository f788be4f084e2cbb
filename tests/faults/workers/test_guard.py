"""The guard in real workers, with processes and with threads for slots: on, unless switched off."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from checkpoints import store
from tests.faults.bench import AGENTS, Field, Worker, workers

pytestmark = pytest.mark.hazard
STEPS = 60


@pytest.fixture(scope="module")
def model() -> Iterator[tuple[str, list[str]]]:
    """(address, what was asked) of something to ask."""
    requests: list[str] = []

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"Tea.")

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()


def guarded(ground: Path, pool: str, **environment: str) -> Worker:
    """A worker that has only the agents of this module, on a queue of its own."""
    shutil.copy(AGENTS / "guarded_agents.py", ground)
    name = f"guard-{pool}{''.join(environment.values())}"
    own = {"HAZARD_QUEUE": name, "GATEPOST_AGENTS": "guarded_agents"}
    return Worker(ground, name, slots=2, pool=pool, queues=name, environment={**own, **environment})


@pytest.mark.requirement("C19")
@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_it_refuses_a_direct_call_and_nothing_else(
    field: Field, ground: Path, model: tuple[str, list[str]], pool: str
) -> None:
    address, request = model
    request.clear()
    with workers(guarded(ground, pool)) as (worker,):
        queue = f"guard-{pool}"
        orderly = [field.start(f"orderly-{queue}", upto=STEPS) for _ in range(2)]
        direct = field.start(f"direct-{queue}", address=address)
        row = direct.wait_status("failed")
        assert row.status_reason.startswith("ask: guarded_agents.py, line ")
        assert "speaks to the network (127.0.0.1) outside of an activity" in row.status_reason
        assert "put it into a function and call it with ctx.activity(...)" in row.status_reason
        (failed,) = [e for e in direct.events() if e.kind == "step.failed"]
        assert "speaks to the network" in failed.data["error"]
        assert request == []

        # Mended, it is retried and goes on; its worker has not suffered.
        (direct.folder / "mended").touch()
        store.retry(direct.id, actor="user:1")
        direct.wait_status("succeeded")
        assert (direct.state()["said"], len(request)) == ("Tea.", 1)
        done = [case.wait_status("succeeded", seconds=60) for case in orderly]
        assert len(done) == 2
        for case in orderly:
            assert case.state()["at"] == STEPS, worker.log.read_text()[-2000:]
            assert len(list(case.folder.glob("__pycache__/late_*.pyc"))) == STEPS
            assert "step.failed" not in case.kinds()


def test_a_worker_without_it_lets_the_node_ask(
    field: Field, ground: Path, model: tuple[str, list[str]]
) -> None:
    address, request = model
    request.clear()
    with workers(guarded(ground, "prefork", GATEPOST_GUARD="false")):
        case = field.start("direct-guard-preforkfalse", address=address)
        case.wait_status("succeeded")
        assert (case.state()["said"], len(request)) == ("Tea.", 1)
