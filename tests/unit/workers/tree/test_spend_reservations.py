"""The cost of a call is reserved before it is made: calls at once cannot pass a cap or budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.db import connections

from approvals.policies import changes as policies
from approvals.policies import reservations
from approvals.policies.reservations import Estimate
from checkpoints import leases, store
from checkpoints.records import Position, Work
from checkpoints.store.overview.budgets import set_budget
from tests.unit.checkpoints.builders import expire, one, rows
from workers.authoring.graph import END, Graph, State
from workers.authoring.language_models import Reply, Request
from workers.code.registry import announce
from workers.language.configuration import estimate_of, model_of
from workers.language.prices import price
from workers.node.context import Context

from .conftest import Fleet

pytestmark = pytest.mark.requirement("G06")

COST, CAP, THREADS = Decimal("1.125"), Decimal("5.06"), 10
RESERVED = "SELECT count(*) FROM gp_spend_reservation"


class Meter:
    """A model whose calls take a while and cost what it says before."""

    def __init__(self, estimate: Decimal | None = COST) -> None:
        self._lock = threading.Lock()
        self.calls = 0
        if estimate is not None:
            self.estimate: Callable[[Request], Decimal] = lambda _: estimate

    def __call__(self, request: Request, /) -> Reply:
        with self._lock:
            self.calls += 1
        time.sleep(0.2)
        return Reply("yes", model="m", tokens_in=1, cost=COST)


class Errand(State):
    text: str = ""


def asks(fleet: Fleet, model: Any) -> None:
    buyer = Graph("buyer", Errand, model=model)

    @buyer.node(then=END)
    def buy(state: Errand, ctx: Context) -> dict[str, Any]:
        return {"text": ctx.model("the price?")}

    fleet.agents = {"buyer": announce(buyer, {}, ())}


def spent() -> Decimal:
    return Decimal(one("SELECT sum(cost) FROM gp_thread"))


def work_together(fleet: Fleet, threads: list[UUID]) -> None:
    together = threading.Barrier(len(threads), timeout=20)

    def work(thread: UUID) -> None:
        try:
            together.wait()
            fleet.work_on(thread)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(threads)) as pool:
        list(pool.map(work, threads))


def wake(fleet: Fleet) -> None:
    """Work on whoever sleeps, until nobody does."""
    while one("SELECT count(*) FROM gp_thread WHERE status = 'sleeping'"):
        rows("UPDATE gp_thread SET wake_at = clock_timestamp() WHERE status = 'sleeping'")
        store.wake_sleepers(owner="sweep")
        fleet.work()


def cap(fleet: Fleet, most: object = CAP, **more: str) -> None:
    wanted = {"scope": "agent", "agent": "buyer", "per": "total"} | more
    policies.set_cap(fleet.workspace, max_cost=str(most), actor="user:1", **wanted)  # type: ignore[arg-type]


def stop_budget(fleet: Fleet, most: Decimal) -> None:
    limits: dict[str, Any] = {"max_tokens": None, "max_cost": str(most), "at_full": "stop"}
    set_budget(fleet.workspace, scope="agent", name="buyer", active=True, actor="user:1", **limits)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [cap, stop_budget])
@pytest.mark.parametrize("estimate", [COST, None])
def test_ten_calls_at_once_stay_below_the_limit(
    fleet: Fleet, settings: Any, estimate: Decimal | None, limit: Callable[..., None]
) -> None:
    settings.GATEPOST_CALL_RESERVE = str(COST)
    model = Meter(estimate)
    asks(fleet, model)
    limit(fleet, CAP)
    threads = [fleet.start("buyer") for _ in range(THREADS)]
    work_together(fleet, threads)
    assert 1 <= model.calls <= 4
    # Who only waited for calls under way tries again by itself; nobody resumes it.
    wake(fleet)
    assert (model.calls, spent()) == (4, 4 * COST)
    assert spent() <= CAP
    after = [fleet.row(thread) for thread in threads]
    assert sorted(str(row.status) for row in after) == ["paused"] * 6 + ["succeeded"] * 4
    assert all("may cost 1.125" in r.status_reason for r in after if r.status == "paused")
    assert one(RESERVED) == 0
    # What is recorded costs nothing when it is taken once more.
    limit(fleet, Decimal(50))
    for row in after:
        if row.status == "paused":
            fleet.resume(row.id)
    fleet.work()
    assert model.calls == THREADS
    fleet.verify()


def test_a_call_that_fails_gives_its_reservation_back(fleet: Fleet) -> None:
    def fails(request: Request, /) -> Reply:
        assert one(RESERVED) == 1
        raise ValueError("the model is away")

    asks(fleet, fails)
    cap(fleet)
    thread = fleet.start("buyer")
    fleet.work()
    assert fleet.row(thread).status == "failed"
    assert one(RESERVED) == 0


def leased(fleet: Fleet, owner: str = "worker:1") -> Work:
    work = leases.acquire(fleet.start("buyer"), owner=owner)
    assert work is not None
    return work


def position_of(work: Work, key: str = "model#0") -> Position:
    return Position(work.branch, work.step + 1, "buy", 0, key)


def most(amount: object = COST) -> Callable[[], Estimate]:
    return lambda: Estimate(Decimal(str(amount)))


def test_a_lost_workers_reservation_counts_until_its_thread_is_taken_over(fleet: Fleet) -> None:
    asks(fleet, Meter())
    cap(fleet, "2.00")
    lost, other = leased(fleet), leased(fleet)
    assert reservations.reserve(lost, position_of(lost), most()) is None
    # The same call once more is no second one: a begin that is repeated, a retry in the lease.
    assert reservations.reserve(lost, position_of(lost), most()) is None
    refusal = reservations.reserve(other, position_of(other), most())
    assert refusal is not None
    assert refusal.for_others
    expire(lost.thread)
    refusal = reservations.reserve(other, position_of(other), most())
    assert refusal is not None, "its call may still be under way"
    taken = leases.take_over(lost.thread, owner="worker:2")
    assert taken is not None
    assert reservations.reserve(other, position_of(other), most()) is None
    refusal = reservations.reserve(taken, position_of(taken), most())
    assert refusal is not None
    assert refusal.for_others
    assert one(RESERVED) == 1
    # A former holder reserves nothing and releases nothing.
    reservations.release(replace(other, token=lost.token), position_of(other))
    assert one(RESERVED) == 1
    reservations.release(other, position_of(other))
    assert reservations.reserve(lost, position_of(lost), most()) is None
    assert one(RESERVED) == 0


@pytest.mark.parametrize("scope", ["thread", "agent", "workspace"])
@pytest.mark.parametrize("per", ["total", "day"])
def test_each_cap_counts_what_is_reserved_within_it(fleet: Fleet, scope: str, per: str) -> None:
    asks(fleet, Meter())
    cap(fleet, "2", scope=scope, per=per, agent="buyer" if scope == "agent" else "")
    work = leased(fleet)
    other = work if scope == "thread" else leased(fleet)
    assert reservations.reserve(work, position_of(work), most()) is None
    second = position_of(other, "model#1")
    refusal = reservations.reserve(other, second, most())
    assert refusal is not None
    assert refusal.for_others
    refusal = reservations.reserve(other, second, most("2.01"))
    assert refusal is not None
    assert not refusal.for_others
    assert "may cost 2.01; the spend cap is 2.00" in refusal.reason
    assert reservations.reserve(other, second, most("0.875")) is None


def test_without_a_limit_nothing_is_reserved_or_estimated(fleet: Fleet) -> None:
    asks(fleet, Meter())
    work = leased(fleet)

    def never() -> Estimate:
        raise AssertionError("nobody needs it")

    assert reservations.reserve(work, position_of(work), never) is None
    assert one(RESERVED) == 0


def test_a_model_without_a_known_price_is_refused_under_a_limit(fleet: Fleet) -> None:
    model = model_of("openai:llama3@http://127.0.0.1:9/v1")
    asks(fleet, model)
    cap(fleet)
    thread = fleet.start("buyer")
    fleet.work()
    row = fleet.row(thread)
    assert row.status == "paused"
    assert row.status_reason.startswith("The price of openai:llama3 isn't known")


def test_an_estimate_is_the_price_of_all_tokens_that_a_call_may_take(settings: Any) -> None:
    request = Request(("x" * 3000,), max_tokens=2000)
    known = estimate_of(model_of("openai:gpt-4o"), request)
    assert known.cost is not None
    at_least = price("openai", "gpt-4o", tokens_in=750, tokens_out=2000)
    twice = price("openai", "gpt-4o", tokens_in=1500, tokens_out=2000)
    assert at_least is not None
    assert twice is not None
    assert at_least <= known.cost <= twice
    # Without a bound of its own the setting's amount; Anthropic's protocol always has one.
    settings.GATEPOST_CALL_RESERVE = "0.25"
    assert estimate_of(model_of("openai:gpt-4o"), Request(("x",))).amount == Decimal("0.25")
    bound = estimate_of(model_of("anthropic:claude-sonnet-4-5"), Request(("x",)))
    assert bound.amount == price("anthropic", "claude-sonnet-4-5", tokens_in=6, tokens_out=4096)
