"""A database that is away for a moment is no failure of what an agent calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.db import DatabaseError, DataError, InterfaceError, OperationalError

from checkpoints import leases, queries, store
from checkpoints.errors import LeaseLost
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs.samples import counter
from workers.authoring.graph import END, Graph, State, tool
from workers.code.registry import announce
from workers.engine.engine import Engine
from workers.node.context import Context
from workers.step.ledger import DatabaseLedger

pytestmark = pytest.mark.django_db


class Careful(State):
    way: str = ""


graph = Graph("careful", Careful)


def fetch() -> int:
    counter("fetch")
    return 1


@tool("careful.send", idempotent=True)
def send(*, key: str) -> str:
    """Repeatable."""
    counter(key)
    return "sent"


@graph.node(then=END)
def decide(state: Careful, ctx: Context) -> dict[str, Any]:
    """Goes another way when something does not work, as careful authors do."""
    try:
        ctx.activity(fetch)
        ctx.effect(send, {})
    except Exception:
        return {"way": "without"}
    return {"way": "with"}


class Flickering(DatabaseLedger):
    """Fails once in a method, before or after it was carried out."""

    def __init__(self, method: str, error: Exception, *, after: bool) -> None:
        self.method, self.error, self.after, self.hit = method, error, after, 0

    def __getattribute__(self, name: str) -> Any:
        result = object.__getattribute__(self, name)
        if name != object.__getattribute__(self, "method") or self.hit:
            return result

        def flicker(*args: Any, **kwargs: Any) -> Any:
            self.hit += 1
            if self.after:
                result(*args, **kwargs)
            raise self.error

        return flicker


def bench() -> Bench:
    counter.calls.clear()
    workspace = store.create_workspace("careful", actor="user:0")
    return Bench(announce(graph, {"careful.send": send}, []), workspace)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("method", ["record", "begin_effect", "end_effect"])
@pytest.mark.parametrize(
    "error", [OperationalError("lock timeout"), InterfaceError("gone"), LeaseLost()]
)
def test_a_flicker_in_mid_step_takes_no_other_way(
    method: str, error: Exception, after: bool, settings: Any
) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001
    made = bench()
    thread = made.start()
    work = leases.acquire(thread, owner="worker:1")
    assert work is not None
    ledger = Flickering(method, error, after=after)
    heartbeat: Any = SimpleNamespace(check=lambda: None)
    engine = Engine(made.agent, ledger, heartbeat, lambda: False)
    with pytest.raises((DatabaseError, InterfaceError, LeaseLost)) as caught:
        engine.advance(work)
    assert caught.value is error
    assert ledger.hit == 1
    row = made.row(thread)
    assert (row.status, row.step) == ("running", 0)  # as after a lost worker: somebody takes over
    assert "step.failed" not in made.kinds(thread)
    row = made.advance(thread)
    assert (row.status, made.state(thread)["way"]) == ("succeeded", "with")
    keys = {name for name in counter.calls if name != "fetch"}
    assert len(keys) == 1  # however often it was sent
    assert counter.count("fetch") == (2 if (method, after) == ("record", False) else 1)
    assert {(a.kind, a.state) for a in queries.activities(thread)} == {
        ("activity", "done"),
        ("effect", "done"),
    }


def test_trust_that_is_lost_in_mid_step_takes_no_other_way() -> None:
    made = bench()
    thread = made.start()
    work = leases.acquire(thread, owner="worker:1")
    assert work is not None
    looks = iter([None, None])  # before the step and before the activity all is well

    def check() -> None:
        if next(looks, "over") == "over":
            raise LeaseLost(thread=thread)

    heartbeat: Any = SimpleNamespace(check=check)
    with pytest.raises(LeaseLost):
        Engine(made.agent, DatabaseLedger(), heartbeat, lambda: False).advance(work)
    assert (made.row(thread).status, made.row(thread).step) == ("running", 0)


def test_a_value_that_the_database_refuses_fails_the_step() -> None:
    made = bench()
    thread = made.start()
    work = leases.acquire(thread, owner="worker:1")
    assert work is not None
    ledger = Flickering("record", DataError("too long"), after=False)
    heartbeat: Any = SimpleNamespace(check=lambda: None)
    Engine(made.agent, ledger, heartbeat, lambda: False).advance(work)
    assert made.state(thread)["way"] == "without"
