"""A real test bank in its own process, and what an outsider reads of it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[4] / "agents"


@dataclass
class Bank:
    """Where it listens, its ledger, its process."""

    ledger: Path
    opening: str
    url: str = ""
    process: subprocess.Popen[str] | None = None

    def start(self) -> Bank:
        """Start it, on another port each time."""
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-S", "-m", "gatepost_agents.testbank"),
                *("--ledger", str(self.ledger), "--opening", self.opening),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url, "the bank ended at once"
        return self

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.kill()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process.wait()

    # ---- as any client ----

    def post(
        self, path: str, body: object, key: str = "", seconds: float = 20
    ) -> tuple[int, dict[str, Any], dict[str, str]]:
        """(status, answer, headers)."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Idempotency-Key": key} if key else {}
        request = urllib.request.Request(f"{self.url}/{path}", raw, headers)
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                return answer.status, json.load(answer), dict(answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error), dict(error.headers)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/{path}", timeout=20) as answer:
            return json.load(answer)

    def fault(self, kind: str, **more: Any) -> None:
        """Let the next calls go wrong."""
        assert self.post("faults", {"kind": kind, **more})[0] == 200

    # ---- as an auditor, from the file alone ----

    def lines(self, *outcomes: str, op: str = "") -> list[dict[str, Any]]:
        """The lines of the ledger with one of these outcomes."""
        results = [json.loads(line) for line in self.ledger.read_text().splitlines()]
        return [
            line
            for line in results
            if (not outcomes or line["outcome"] in outcomes) and op in ("", line["op"])
        ]

    def done(self) -> list[str]:
        """The operations carried out, in their order."""
        return [line["op"] for line in self.lines("done")]


@contextmanager
def started_bank(folder: Path, opening: str = "1000000.00") -> Iterator[Bank]:
    """A bank that is gone afterwards."""
    bank = Bank(folder / "ledger.jsonl", opening).start()
    try:
        yield bank
    finally:
        bank.kill()
