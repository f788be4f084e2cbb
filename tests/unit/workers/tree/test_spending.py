"""The cap of a tree holds each model call of its children, also those made at the same time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, connections

from approvals.policies import changes as policies
from workers.authoring.graph import END, Graph, State, tool
from workers.authoring.language_models import Reply, Request
from workers.code.registry import announce
from workers.node.context import Context

from .conftest import Fleet
from .test_spend_reservations import wake

pytestmark = pytest.mark.requirement("G06")

CHILDREN, CALLS, COST, CAP = 20, 5, Decimal("0.10"), Decimal("1.00")


class Meter:
    """A model that counts its calls, and how many of them there were at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.calls = self.now = self.peak = 0

    def __call__(self, request: Request, /) -> Reply:
        with self._lock:
            self.calls += 1
            self.now += 1
            self.peak = max(self.peak, self.now)
        time.sleep(0.2)
        with self._lock:
            self.now -= 1
        return Reply("yes", model="m", tokens_in=1, cost=COST)


class Errand(State):
    texts: list[str] = []


def agents_that_ask(model: Meter) -> list[Graph]:
    buyer, house = Graph("buyer", Errand, model=model), Graph("house", Errand)

    @buyer.node(then=END)
    def buy(state: Errand, ctx: Context) -> dict[str, Any]:
        # All in one step: between steps nobody would look.
        return {"texts": [ctx.model(f"call {n}") for n in range(CALLS)]}

    @house.node(then=END)
    def send_all(state: Errand, ctx: Context) -> dict[str, Any]:
        joined = ctx.map("buyer", [{}] * CHILDREN, at_most=None)
        return {"texts": [text for result in joined.results for text in result["texts"]]}

    return [buyer, house]


def spent() -> Decimal:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(cost) FROM gp_thread")
        return Decimal(cursor.fetchone()[0])


@tool("errand.order", idempotent=True)
def order(what: str, *, key: str) -> str:
    """Order something that costs."""
    ordered.append(what)
    return f"ordered {what}"


ordered: list[str] = []


@pytest.mark.slow
@pytest.mark.parametrize("caps", [CAP, CAP + COST], ids=["reached", "not reached"])
def test_no_effect_begins_once_the_models_of_its_lease_have_reached_a_cap(
    fleet: Fleet, settings: Any, caps: Decimal
) -> None:
    """The caps that came with the lease are of before the calls."""
    settings.GATEPOST_CALL_RESERVE = str(COST)
    meter = Meter()
    errand = Graph("errand", Errand, model=meter)

    @errand.node(then=END)
    def buy(state: Errand, ctx: Context) -> dict[str, Any]:
        texts = [ctx.model(f"call {n}") for n in range(int(CAP / COST))]
        return {"texts": [*texts, ctx.effect(order, {"what": "tea"}).result]}

    ordered.clear()
    fleet.agents = {"errand": announce(errand, {}, ())}
    policies.set_cap(fleet.workspace, scope="thread", per="total", max_cost=str(caps), actor="u:1")
    thread = fleet.start("errand")
    fleet.work_on(thread)
    assert meter.calls * COST == spent() == CAP
    done = caps > CAP
    assert ordered == ["tea"] * done
    assert fleet.row(thread).status == ("succeeded" if done else "paused")


@pytest.mark.nightly
def test_twenty_children_never_pass_the_cap_of_their_tree(fleet: Fleet, settings: Any) -> None:
    settings.GATEPOST_CALL_RESERVE = str(COST)
    model = Meter()
    fleet.agents = {graph.name: announce(graph, {}, ()) for graph in agents_that_ask(model)}
    cap: dict[str, Any] = {"scope": "thread", "per": "total", "actor": "user:1"}
    policies.set_cap(fleet.workspace, max_cost=str(CAP), **cap)
    thread = fleet.start("house")
    fleet.work_on(thread)
    together = threading.Barrier(CHILDREN, timeout=20)

    def work(child: Any) -> None:
        try:
            together.wait()
            fleet.work_on(child)
        finally:
            connections.close_all()

    children = fleet.children(thread)
    with ThreadPoolExecutor(CHILDREN) as pool:
        list(pool.map(work, children))
    assert model.peak > 3, "they were at it at the same time"
    wake(fleet)  # those that waited for calls under way
    assert model.calls * COST == spent()
    assert spent() == CAP < CHILDREN * CALLS * COST
    rows = [fleet.row(child) for child in children]
    assert {str(row.status) for row in rows} <= {"paused", "succeeded"}
    reasons = {row.status_reason for row in rows if row.status == "paused"}
    assert all("with its family tree" in text and "cap is 1" in text for text in reasons)
    assert fleet.row(thread).status == "waiting"
    # One more look costs nothing; with another cap what was paid is not paid again.
    paid = model.calls
    for row in rows:
        if row.status == "paused":
            fleet.resume(row.id)
    fleet.work()
    assert model.calls == paid
    policies.set_cap(fleet.workspace, max_cost="50", **cap)
    for row in rows:
        if fleet.row(row.id).status == "paused":
            fleet.resume(row.id)
    fleet.work()
    assert (fleet.row(thread).status, model.calls) == ("succeeded", CHILDREN * CALLS)
    fleet.verify()
