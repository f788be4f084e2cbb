"""An agent that reads invoices, asks a model, and pays what the test puts in its proposal."""

from __future__ import annotations

from typing import Annotated, Any

from workers.authoring.graph import END, Append, Gate, Graph, State, tool
from workers.authoring.language_models import Reply, Request
from workers.node.context import Context, current

LINES = [
    {"invoice": f"RE-70{n}1", "name": f"Supplier {n} Ltd", "amount": f"{1117 + 13 * n}.25"}
    for n in range(4)
]
TABLE = "order,account,amount\n" + "".join(
    f"PO-88{n}1,DE8937040044053201300{n},{2217 + 17 * n}.50\n" for n in range(4)
)


class Buying(State):
    goal: str = ""
    ceiling: str = "250,000.00"
    notes: Annotated[list[str], Append()] = []
    lines: list[dict[str, Any]] = []
    receipt: str = ""


class Script:
    """What the agent proposes next, and what its model answers."""

    proposal: dict[str, Any] = {}
    answer: str = ""


def read_invoices(folder: str) -> dict[str, Any]:
    file = current().artifact("orders.csv", TABLE.encode(), "text/csv")
    return {"lines": LINES, "orders": file, "page": 3}


def confirm(values: Any) -> dict[str, Any]:
    return {"confirmed": values}


def answer(request: Request) -> Reply:
    return Reply(Script.answer, model="small-1", tokens_in=3, tokens_out=4, cost="0.5")


graph = Graph("buying", Buying, model=answer)


@tool("pay", idempotent=True)
def pay(
    lines: Any = None,
    total: Any = None,
    account: Any = None,
    amount: Any = None,
    ceiling: Any = None,
    reference: Any = None,
    *,
    key: str,
) -> dict[str, Any]:
    return {"receipt": "R-99417"}


@graph.node(then="think")
def read(state: Buying, ctx: Context) -> dict[str, Any]:
    result = ctx.activity(read_invoices, "inbox")
    return {"lines": result["lines"]}


@graph.node(then="pay")
def think(state: Buying, ctx: Context) -> dict[str, Any]:
    ctx.model("What else?", state.goal)
    ctx.activity(confirm, Script.proposal)
    return {"notes": [Script.answer]}


@graph.node("pay", then=END)
def pay_invoices(state: Buying, ctx: Context) -> dict[str, Any]:
    done = ctx.effect(pay, Script.proposal, gate=Gate("Pay?"))
    return {"receipt": done.result["receipt"]}


TOOLS = {"pay": pay}
