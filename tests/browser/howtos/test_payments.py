"""docs/howto/payments.md: the bank and the demo are started as it says, and do what it says."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from gatepost_agents.payments.agent import graph
from tests.faults.embedded.helpers import ROOT, free_port, responds, up, wait_until
from tests.faults.embedded.resident import Installation

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
TEXT = (ROOT / "docs/howto/payments.md").read_text()
BANK = re.search(r"^\.venv/bin/python (-m agents\.testbank.*)$", TEXT, re.MULTILINE)


def test_the_bank_and_the_demo_of_the_page(tmp_path: Path) -> None:
    assert BANK is not None
    port = free_port()
    words = shlex.split(BANK[1].replace("8787", str(port)))
    assert "GATEPOST_BANK_URL=http://127.0.0.1:8787 make up" in TEXT
    ledger = tmp_path / words[words.index("--ledger") + 1]
    words[words.index("--ledger") + 1] = str(ledger)
    url, outbox, data = f"http://127.0.0.1:{port}", tmp_path / "outbox", tmp_path / "data"
    bank = subprocess.Popen([sys.executable, *words], cwd=ROOT)
    try:
        wait_until(lambda: responds(f"{url}/health"), seconds=30, what="the bank")
        where = {"GATEPOST_BANK_URL": url, "GATEPOST_OUTBOX": str(outbox)}
        with up(data, environment=where), Installation(data) as here:
            thread = here.until("demo-invoices", "waiting", "failed")
            assert thread["status"] == "waiting", thread["status_reason"]
            assert re.search(r"\b138 invoices\b", TEXT)
            log = here("threads", "state", "demo-invoices")["state"]["log"]
            assert log[0] == "Read 138 lines of invoices.csv."
            [request] = [r for r in here("approve")["results"] if r["thread"] == thread["id"]]
            here("approve", request["id"], "--verdict", "approve", "--as", "manager")
            here.until("demo-invoices", "succeeded")
            mails = sorted(path.name for path in outbox.glob("*.eml"))
            assert mails
            reason = ("--reason", "as the page says", "--yes")
            here("threads", "rollback", "demo-invoices", "0", *reason)
            here.until("demo-invoices", "paused")
            assert sorted(path.name for path in outbox.glob("*.eml")) == mails, "mails stay"
        lines = [json.loads(line) for line in ledger.read_text().splitlines()]
        done = [line["op"] for line in lines if line.get("outcome") == "done"]
        assert done == ["reserve", "pay", "refund", "release"]
        each_call_answers(url)
    finally:
        bank.kill()
        bank.wait()


def each_call_answers(url: str) -> None:
    """The table of calls: what is listed is there, what changes needs a key, faults are known."""
    calls = re.findall(r"^\| `(?:POST|GET) .*$", TEXT, re.MULTILINE)
    posts = [path for row in calls for path in re.findall(r"`POST (/[a-z]+)`", row)]
    gets = [
        path for row in calls if "`GET " in row for path in re.findall(r"`(?:GET )?(/[^`]+)`", row)
    ]
    assert len(posts) >= 5
    assert len(gets) >= 4
    with httpx.Client(base_url=url) as client:
        for path in gets:
            assert client.get(path + ("S-101" if path.endswith("=") else "")).status_code == 200
        for path in posts:
            keyless = client.post(path, json={}).status_code
            assert keyless in (400, 422), f"{path}: {keyless}"
        [row] = [row for row in calls if "/faults" in row]
        kinds = re.findall(r"`([a-z0-9]+)`", row.partition("go wrong")[2])
        assert len(kinds) == 5
        for kind in kinds:
            assert client.post("/faults", json={"kind": kind, "times": 0}).status_code == 200


def test_the_steps_of_the_page_are_the_nodes() -> None:
    table = TEXT.partition("| step |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([a-z, ]+) \|", table, re.MULTILINE)
    assert [step for row in rows for step in row.split(", ")] == list(graph.nodes)
