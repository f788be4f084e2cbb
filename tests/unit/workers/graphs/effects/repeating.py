"""An agent for tests that pays a list, so that a fork or a rollback would pay some of it again."""

from __future__ import annotations

from typing import Any, TypedDict

from workers.authoring.graph import END, Gate, Graph, State, Tool, tool
from workers.node.context import Context

paid: list[dict[str, Any]] = []


class Payment(TypedDict):
    """One line."""

    to: str
    invoice: str
    amount: str


class Payments(State):
    """What is to be paid, and behind which risk."""

    payments: list[dict[str, str]] = []
    risk: str = "low"
    gated: bool = True


graph = Graph("pay-lists", Payments)


@tool("list.pay", idempotent=True)
def pay(count: int, total: str, currency: str, payments: list[Payment], *, key: str) -> str:
    """Pay each line."""
    paid.append({"count": count, "total": total, "payments": payments})
    return f"receipt {len(paid)}"


def lines(*numbers: int) -> list[dict[str, str]]:
    """Payments by number."""
    return [{"to": "Ada", "invoice": f"RE-{n}", "amount": f"{n}.50"} for n in numbers]


@graph.node(then=END)
def settle(state: Payments, ctx: Context) -> dict[str, Any]:
    """Pay all of it in one go."""
    total = sum(float(line["amount"]) for line in state.payments)
    args = {"count": len(state.payments), "total": f"{total:.2f}", "currency": "EUR"}
    risk: Any = state.risk
    gate = Gate(f"Pay {len(state.payments)} invoices?", risk=risk) if state.gated else None
    ctx.effect(pay, {**args, "payments": state.payments}, gate=gate)
    return {}


TOOLS: dict[str, Tool] = {pay.name: pay}
