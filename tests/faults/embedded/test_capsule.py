"""A capsule between two real installations: other servers, other secret key, a worker in each."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.faults.embedded.helpers import up
from tests.faults.embedded.resident import Installation

pytestmark = [
    pytest.mark.hazard,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes through /proc"),
]
TABLE = "day,delay\n2026-01-01,3\n2026-01-02,5\n2026-01-03,4\n"


@pytest.mark.requirement("B10")
@pytest.mark.requirement("B18")
@pytest.mark.requirement("B25")
def test_a_failed_thread_fails_the_same_way_elsewhere(data: Path, tmp_path: Path) -> None:
    table = tmp_path / "delays.csv"
    table.write_text(TABLE)
    capsule, waiting, point = (tmp_path / f"{name}.zip" for name in ("failed", "waiting", "point"))
    with up(data), Installation(data) as here:
        thread = here(
            *("threads", "start", "market-research", "--name", "the failing one"),
            *("--file", f"file={table}", "--set", "measure=no such column"),
            *("--set", "question=Which is late?"),
        )["id"]
        failed = here.until(thread, "failed")
        state = here("threads", "state", thread)
        events = here.events(thread)
        here("export", thread, "--to", str(capsule))
        here("export", thread, "--checkpoint", "1", "--to", str(point))
        here.until("demo-flights", "waiting")
        demo = here("threads", "show", "demo-flights")
        here("export", "demo-flights", "--to", str(waiting))
        secret = (data / "secret-key").read_bytes()

    other = data.with_name("other")
    with up(other), Installation(other) as there:
        assert (other / "secret-key").read_bytes() != secret
        payload = there("import", str(capsule))
        assert (payload["thread"], payload["status"]) == (thread, "failed")
        row = there("threads", "show", thread)
        assert (row["name"], row["status_reason"]) == ("the failing one", failed["status_reason"])
        came = [event | {"imported": True} for event in events]
        assert there.events(thread)[: len(events)] == came
        now = there("threads", "state", thread)
        assert now["state"] == state["state"]
        for name in ("name", "session_id", "step", "status", "thread_status", "created_at"):
            assert now[name] == state[name], name
        assert now["context"]["history"] == state["context"]["history"]
        assert there("verify", thread)["intact"]
        assert "here already" in there.refused("import", str(capsule))

        there("threads", "retry", thread)
        deadline = time.monotonic() + 60
        while not any(
            e["seq"] > row["last_seq"] and e["kind"] == "thread.failed"
            for e in there.events(thread)
        ):
            assert time.monotonic() < deadline, there.events(thread)[-3:]
            time.sleep(0.2)
        again = there.until(thread, "failed")
        assert again["status_reason"] == failed["status_reason"]
        assert again["step"] == failed["step"]

        # With the variable put right, a fork goes on to the gate, on the file that came along.
        fork = there("threads", "fork", thread, "--set", "measure=delay")["id"]
        assert there.until(fork, "waiting", "failed", "attention")["status"] == "waiting"

        # One checkpoint with its files is a thread that begins there.
        alone = there("import", str(point), "--name", "from checkpoint 1")
        assert alone["status"] == "paused"
        there("threads", "resume", alone["thread"])
        assert there.until(alone["thread"], "failed")["status_reason"] == failed["status_reason"]

        # What waited here is paused there, and asks anew. (Each installation has its own demo.)
        carried = there("import", str(waiting), "--name", "the other demo")
        assert (carried["status"], carried["withdrawn"]) == ("paused", 1)
        assert carried["thread"] == demo["id"]
        there("threads", "resume", demo["id"])
        there.until(demo["id"], "waiting")
        requests = [a for a in there("approve")["results"] if a["thread"] == demo["id"]]
        assert len(requests) == 1
        everything = there("verify")
        assert everything["intact"], everything["broken"]
