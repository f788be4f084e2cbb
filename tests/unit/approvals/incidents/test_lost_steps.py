"""Steps that the hot store has lost are an incident, an alarm, a figure, and named on the page."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
import redis
from django.db import connection
from django.test import Client

from approvals.incidents import responses
from approvals.incidents.sweep import sweep_incidents
from approvals.notify import endpoints
from approvals.notify.endpoints import Wanted
from approvals.notify.sender import Sender
from approvals.notify.texts.incident_kinds import LOST
from checkpoints import queries, store
from checkpoints.errors import LeaseLost
from checkpoints.records import Work
from checkpoints.states import EventKind
from checkpoints.store.statement.moves import Move, NewEvent, perform
from dashboard.live import metrics
from tests.support.cast import Cast, make_cast
from tests.unit.approvals.post import Mailbox
from tests.unit.dashboard.live.test_metrics import read
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs.ticking import TOOLS, ticking
from tests.unit.workers.step.test_hot_ledger import taken, worked
from workers.code.registry import announce

from .scenes import deliveries, incidents, person, subscribe

pytestmark = [pytest.mark.usefixtures("loopback"), pytest.mark.requirement("A31")]
HOST = {"host": "localhost"}


@pytest.fixture
def cast(real_db: str, hot_store: redis.Redis, settings: Any, monkeypatch: Any) -> Cast:
    monkeypatch.setattr(metrics, "KEPT_SECONDS", 0.0)
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
    settings.GATEPOST_LEASE_SECONDS = 1.0
    cast = make_cast(" lost")
    cast.users["operator"].email = "operator@example.com"
    cast.users["operator"].save()
    return cast


@pytest.fixture
def bench(cast: Cast) -> Bench:
    return Bench(announce(ticking("hot"), TOOLS, []), cast.workspace)


def lose(bench: Bench, hot_store: redis.Redis) -> tuple[UUID, int, int]:
    """(a thread whose steps after 30 went with the hot store, the first, the last of them)."""
    thread = bench.start(until=100)

    def before_step(work: Work) -> None:
        if work.step == 30:
            store.drain(thread)
        if work.step == 60:
            hot_store.flushall()

    with pytest.raises(LeaseLost):
        worked(bench, taken(thread), before_step=before_step)
    [lost] = queries.lost_steps(thread, workspace=bench.workspace)
    return thread, lost.data["first"], lost.data["last"]


def alarms() -> list[tuple[str, str, UUID]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, data ->> 'what', thread_id FROM gp_outbox WHERE kind = 'steps.lost'"
        )
        return list(cursor.fetchall())


def test_lost_steps_are_an_incident_an_alarm_a_figure_and_on_the_page(
    cast: Cast, bench: Bench, hot_store: redis.Redis, client: Client, box: Mailbox
) -> None:
    endpoints.make(
        cast.workspace, "email", Wanted(name="a", target="a@example.com"), actor="user:1"
    )
    subscribe(cast)
    before = read(client).get(("gatepost_step_losses_total", ()), 0.0)
    thread, first, last = lose(bench, hot_store)
    for _ in range(3):
        sweep_incidents()
    [incident] = incidents(cast)
    assert (incident.kind, incident.agent, incident.threads) == (LOST, "ticking", 1)
    assert incident.reason.startswith(f"Checkpoints #{first} to #{last} were lost")
    [(_, what, about)] = alarms()
    assert (what, about) == (incident.reason, thread)
    assert [kind for kind, _ in deliveries()] == ["incident.opened"]
    assert Sender().drain() >= 2
    subjects = [mail["subject"] for _, mail in box.mails]
    assert any(one.startswith("Steps of a hot agent were lost") for one in subjects)
    assert "Steps lost: 1 thread of ticking" in subjects
    assert read(client)["gatepost_step_losses_total", ()] == before + 1
    page = cast.client("operator").get(f"/threads/{thread}/", headers=HOST).content.decode()
    assert f"Checkpoints #{first} to #{last} were lost," in " ".join(page.split())


def test_losses_alike_are_one_incident_until_somebody_closes_it(
    cast: Cast, bench: Bench, hot_store: redis.Redis
) -> None:
    lose(bench, hot_store)
    lose(bench, hot_store)
    sweep_incidents()
    [incident] = incidents(cast)
    assert (incident.threads, incident.affected, incident.state) == (2, 2, "open")
    who = person(cast)
    responses.close(incident.id, workspace=cast.workspace, person=who, reason="disk", actor=who)
    for _ in range(2):
        sweep_incidents()
    assert [row.state for row in incidents(cast)] == ["closed"]
    assert len(alarms()) == 2
    lose(bench, hot_store)
    sweep_incidents()
    assert sorted(row.state for row in incidents(cast)) == ["closed", "open"]


def test_a_loss_of_unknown_length_is_told_as_well(cast: Cast, bench: Bench) -> None:
    thread = bench.start(until=3)
    event = NewEvent(
        EventKind.STEPS_LOST, {"first": 1, "at_least": True, "why": "It is gone."}, "worker:1"
    )
    perform(Move(thread, events=[event]))
    sweep_incidents()
    [incident] = incidents(cast)
    assert incident.reason == "Checkpoints #1 to #? at least, maybe more, were lost: It is gone."
    page = cast.client("operator").get(f"/threads/{thread}/", headers=HOST).content.decode()
    assert "Checkpoints from #1 on may be lost; nobody knows how many," in " ".join(page.split())
