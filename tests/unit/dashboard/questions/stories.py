"""Threads of the shipped agents, played in the test's database, for the judged questions.

Everything they work on is here or ships with the agent, so each play tells the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest

from checkpoints import store
from checkpoints.states import FINISHED, Status
from tests.support.cast import Cast
from tests.unit.agents.dependency_audit.made_up import install
from tests.unit.agents.testbank.bank import started_bank
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.records.exports.population import decide
from tests.unit.workers.conftest import Bench
from workers.code.registry import load

TIDES: Final = """# Tidal stations

The Rance station began to work in 1966 and has 24 turbines.
Its turbines reach 240 megawatts together.

Sihwa Lake has the largest tidal station since 2011, with 254 megawatts.

Kislaya Guba is the smallest of them: 1.7 megawatts.
A barrage silts up where the water stands still, so the gates are opened every eight hours.
"""
LOCK: Final = "teapot==2.0\nkettle==1.4\nsaucer\nspoon==3.1\ncups==1.0\n"
PACKAGES: Final = (
    ("teapot", "2.0", "License-Expression: MIT\nSummary: Pours tea\n"),
    ("kettle", "1.4", "License-Expression: AGPL-3.0-only\nSummary: Boils water\n"),
    ("saucer", "0.3", "Summary: Stands below\n"),
    ("spoon", "3.1", "License-Expression: Apache-2.0\nSummary: Stirs\n"),
)


class Stories:
    """The threads by name."""

    def __init__(self, cast: Cast, tmp_path: Path) -> None:
        self.cast = cast
        self.workspace = cast.workspace
        self.folder = tmp_path
        self.threads: dict[str, UUID] = {}

    def play(self, settings: Any, patched: pytest.MonkeyPatch) -> None:
        """Play all of them."""
        settings.GATEPOST_PUBLISHED = self.folder / "published"
        settings.GATEPOST_OUTBOX = self.folder / "outbox"
        for name, version, metadata in PACKAGES:
            install(self.folder / "site", name, metadata, {f"{name}.py": ""}, version=version)
        patched.syspath_prepend(str(self.folder / "site"))
        with started_bank(self.folder) as bank:
            settings.GATEPOST_BANK_URL = bank.url
            # The refused one first: what the bank has paid is not proposed again.
            self._payments("refused payments", "reject", "Wait for the new budget.", most=5)
            self._payments("payments", "approve", "Matches the orders of October.")
        self._research()
        self._audit()

    def _payments(self, name: str, verdict: str, comment: str, **more: Any) -> None:
        bench = self._bench("payments")
        self._run(name, bench, verdict, comment, due_by="2026-11-30", **more)

    def _research(self) -> None:
        bench = self._bench("deep_research")
        self._run(
            "deep-research",
            bench,
            "approve",
            "Well cited.",
            question="How many megawatts has the Rance tidal station?",
            file=self._file("tides.md", TIDES),
        )

    def _audit(self) -> None:
        bench = self._bench("dependency_audit")
        self._run(
            "dependency-audit",
            bench,
            "approve",
            "Replace the kettle.",
            file=self._file("requirements.txt", LOCK),
        )

    def _bench(self, package: str) -> Bench:
        agents = load([f"gatepost_agents.{package}"])
        self._agents = dict(agents)
        lead = package.replace("_", "-")
        return Bench(agents[lead], self.workspace)

    def _file(self, name: str, text: str) -> dict[str, Any]:
        return dict(
            store.put_artifact(
                self.workspace, name=name, media_type="text/plain", chunks=[text.encode()]
            )
        )

    def _run(self, name: str, bench: Bench, verdict: str, comment: str, **values: Any) -> None:
        operator = self.cast.actor("operator").id
        thread = store.start(
            bench.agent.version_id,
            input=values,
            workspace=self.workspace,
            actor=operator,
            title=name.capitalize(),
        )
        self.threads[name] = thread
        for _ in range(20):
            row = bench.advance(thread)
            if row.status in FINISHED:
                break
            if row.status is Status.WAITING and bench.approvals(thread):
                decide(self.cast, bench.open(thread), verdict, comment)
                continue
            for (child,) in rows(
                "SELECT id FROM gp_thread WHERE parent = %s AND status = 'queued'", (thread,)
            ):
                Bench(self._agents["package-audit"], self.workspace).advance(child)
            bench.deliver_due(thread)
        assert bench.row(thread).status is Status.SUCCEEDED, bench.row(thread).status_reason
