"""A hundred requests of all kinds, each of a real thread that waits; made by the gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from approvals import gates, queries
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from checkpoints import leases, store
from checkpoints.records import Position

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order": {"type": "string"},
        "payee": {"type": "string"},
        "amount": {"type": "string"},
        "currency": {"type": "string"},
        "report": {"type": "string"},
    },
}
TOOLS: dict[str, Any] = {
    "refund.pay": {"effect": True, "idempotent": True, "undo": "refund.cancel"},
    "bank.transfer": {"effect": True, "idempotent": True},
    "price.notice": {"effect": True, "idempotent": True},
}


def agent_of(name: str) -> UUID:
    """An announced agent that no worker works for."""
    return store.announce_version(
        agent=name, version=1, fingerprint=f"{abs(hash(name)):064x}"[:64], label=name,
        description="", schema_version=1, schema={"type": "object", "properties": {}},
        channels={}, graph={"entry": ["pay"], "nodes": [{"name": "pay", "then": []}]},
        tools=TOOLS, queue="nobody-listens",
    )  # fmt: skip


def ask(workspace: UUID, agent: UUID, title: str, **more: Any) -> ApprovalRow:
    """A thread that waits at a gate; its request."""
    thread = store.start(agent, input={}, workspace=workspace, actor="user:0", title=title)
    work = leases.acquire(thread, owner="worker:1:boot")
    assert work is not None
    values: dict[str, Any] = {
        "position": Position(work.branch, work.step + 1, "pay", 0, f"{more.get('tool', 'x')}#0"),
        "kind": "gate",
        "title": title,
        "args": {},
        "tool": "",
        **more,
    }
    assert gates.request(work, [gates.Proposal(**values)], waiting_on={"titles": [title]})
    return queries.for_thread(thread, open_only=True)[0]


@dataclass(frozen=True)
class Mixed:
    """What waits, by what a reviewer does with it."""

    low: Sequence[ApprovalRow]
    medium: Sequence[ApprovalRow]
    high: Sequence[ApprovalRow]

    @property
    def all(self) -> list[ApprovalRow]:
        return [*self.low, *self.medium, *self.high]


def hundred(workspace: UUID, *, low: int = 45, medium: int = 25, high: int = 30) -> Mixed:
    """Refunds that are alike, notices that differ in words, transfers of high risk."""
    refunds, catalogue, payables = map(agent_of, ("refunds", "catalogue", "ap-payments"))
    lists = ("spring", "summer", "autumn")
    firms = ("Logistics", "Freight", "Harbour")
    towns = ("Lyon", "Graz", "Porto", "Turku", "Ghent", "Brno", "Split", "Tromsø", "Sligo", "Pisa")
    return Mixed(
        [
            ask(
                workspace, refunds, f"Refund order {90_000 + n} · late delivery",
                tool="refund.pay", risk="low", undo="refund.cancel", schema=SCHEMA,
                args={"order": f"{90_000 + n}", "amount": f"{12 + n}.50", "currency": "EUR"},
                expires_in=7_200.0 + 60 * n,
            )
            for n in range(low)
        ],
        [
            ask(
                workspace, catalogue,
                f"Send the price notice to {towns[n % 10]}, {lists[n // 10]} list",
                tool="price.notice", risk="medium", schema=SCHEMA,
                args={"recipients": [f"shop-{k}@example.com" for k in range(3 + n)]},
                expires_in=20_000.0 if n % 2 else None,
                # Two of those who may: one may edit it, and it still waits.
                terms=Terms(stages=(Seat(count=2),)) if n < 5 else None,
            )
            for n in range(medium)
        ],
        [
            ask(
                workspace, payables, f"Pay invoice {4_400 + n} · {towns[n % 10]} {firms[n // 10]}",
                tool="bank.transfer", risk="high", schema=SCHEMA,
                args={"payee": towns[n % 10], "amount": f"{4_820 + 37 * n}.00", "currency": "EUR"},
                expires_in=2_400.0 if n < 4 else 40_000.0,
                reasons=("Invoice, order and delivery note agree.",),
                terms=Terms(stages=(Seat(teams=("treasury",)),)) if n % 5 == 4 else None,
            )
            for n in range(high)
        ],
    )  # fmt: skip
