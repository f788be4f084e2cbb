"""A small past with requests, decisions, effects, a fork's base and odd content."""

from __future__ import annotations

from typing import Any

from approvals import gates
from dashboard.threads.verify import verify
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene


def decide(cast: Cast, row: Any, verdict: Any, comment: str, **more: Any) -> None:
    """The manager's verdict on a request."""
    gates.decide(
        row.id,
        workspace=cast.workspace,
        reviewer=gates.Reviewer(cast.actor("manager").id, "manager"),
        verdict=verdict,
        proposal_hash=row.proposal_hash,
        comment=comment,
        **more,
    )


def verify_all(cast: Cast) -> None:
    """Verify each thread of the workspace, as the sweep does."""
    for (thread,) in rows("SELECT id FROM gp_thread WHERE workspace_id = %s", (cast.workspace,)):
        verify(cast.actor("auditor"), thread)


def populate(cast: Cast) -> list[Any]:
    """Three decided requests, one open one, and a thread without any; the requests."""
    requests = []
    for title, args, verdict, comment in (
        (
            "=HYPERLINK(1)",
            {"payee": "ACME GmbH", "amount": "151781.50", "x": 1e-7},
            "approve",
            "ok",
        ),
        ("+Globex 😀", {"payments": [{"payee": "Globex", "amount": "12.00"}]}, "reject", "@no\n=1"),
        ("-plain", {"payee": "Ünïcode \u2028", "rate": 1.5e300, "n": [0.1, 1e16]}, "approve", ""),
    ):
        work = scene.lease(scene.start(cast.workspace, scene.make_agent("payments")))
        scene.step(work, report="ready")
        scene.effect(work, key="publish:1")
        row = scene.gate(work, args=args, tool="bank.pay", risk="high", title=f"{title}: pay?")
        decide(cast, row, verdict, comment)
        requests.append(row)
    requests.append(scene.waiting(cast.workspace, scene.make_agent("research")))
    scene.step(scene.lease(scene.start(cast.workspace, scene.make_agent("research"))), report="x")
    return requests
