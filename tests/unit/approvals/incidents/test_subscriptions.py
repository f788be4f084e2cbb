"""Who hears of an incident, when, and by which way: filters, quiet hours, snooze, escalation."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from approvals.incidents import queries, quiet_hours, responses, subscriptions
from approvals.incidents.models import QuietHours
from approvals.incidents.subscriptions import Choice
from approvals.incidents.sweep import sweep_incidents
from approvals.notify.sender import Sender
from approvals.notify.texts.incident_kinds import ATTENTION, BREAKER, FAILED, TROUBLES
from checkpoints import queries as ground
from checkpoints import store
from checkpoints.chain.workspaces import verify_workspace
from checkpoints.errors import InvalidValue, NotAllowedNow, NotFound
from tests.support.cast import Cast, make_cast
from tests.unit.approvals.news import endpoint
from tests.unit.approvals.post import Mailbox

from .scenes import deliveries, fails, incidents, later, mail, person, subscribe

pytestmark = [pytest.mark.usefixtures("loopback"), pytest.mark.requirement("E01")]


@pytest.mark.parametrize(
    ("choice", "heard"),
    [
        ({}, True),
        ({"kinds": [FAILED]}, True),
        ({"kinds": [ATTENTION, BREAKER]}, False),
        ({"kinds": []}, False),
        ({"agent": "research"}, True),
        ({"agent": "payments"}, False),
        ({"label": "team=pricing"}, True),
        ({"label": "team=sales"}, False),
        ({"agent": "research", "label": "team=pricing", "kinds": [FAILED]}, True),
    ],
)
def test_a_subscription_hears_what_it_names(
    people: Cast, choice: dict[str, Any], heard: bool
) -> None:
    subscribe(people, **choice)
    fails(people, "publish: HTTP 503", labels={"team": "pricing", "order": "12"})
    sweep_incidents()
    assert deliveries() == ([("incident.opened", person(people))] if heard else [])


def test_a_label_that_comes_later_is_heard_of_then(people: Cast) -> None:
    subscribe(people, label="team=pricing")
    fails(people, "publish: HTTP 503")
    sweep_incidents()
    assert deliveries() == []
    fails(people, "publish: HTTP 502", labels={"team": "pricing"})
    sweep_incidents()
    assert deliveries() == [("incident.opened", person(people))]


def test_who_subscribes_hears_of_what_comes_and_not_of_what_was(people: Cast) -> None:
    fails(people, "publish: HTTP 503")
    sweep_incidents()
    subscribe(people)
    sweep_incidents()
    assert deliveries() == []
    fails(people, "publish: HTTP 504")
    sweep_incidents()
    assert deliveries() == [("incident.opened", person(people))]


def test_a_team_is_its_members_and_a_person_gets_one_mail(people: Cast) -> None:
    team = Group.objects.create(name="pricing")
    for name in ("operator", "manager", "stranger"):
        people.users[name].groups.add(team)
    subscriptions.make(
        people.workspace, Choice(endpoint=mail(people)), actor="user:1", team="pricing"
    )
    subscribe(people, "operator")
    subscribe(people, "operator", endpoint=endpoint(people, "email", name="second"))
    fails(people, "publish: HTTP 503")
    sweep_incidents()
    assert sorted(to for _, to in deliveries()) == sorted(
        person(people, name) for name in ("operator", "manager")
    )


def test_another_workspace_hears_nothing(people: Cast) -> None:
    subscribe(people)
    elsewhere = Cast(people.elsewhere, people.workspace, people.users)
    fails(elsewhere, "publish: HTTP 503")
    sweep_incidents()
    assert (len(incidents(elsewhere)), incidents(people), deliveries()) == (1, [], [])


@pytest.mark.parametrize(
    ("now", "end"),
    [
        ("2026-03-10T21:30+00:00", "2026-03-11T06:00+00:00"),  # 22:30 in Berlin
        ("2026-03-11T05:59+00:00", "2026-03-11T06:00+00:00"),
        ("2026-03-11T06:00+00:00", None),
        ("2026-03-10T20:59+00:00", None),
        ("2026-03-28T22:00+00:00", "2026-03-29T05:00+00:00"),  # the clocks go forward that night
    ],
)
def test_quiet_hours_go_past_midnight_by_the_clock_of_the_person(now: str, end: str | None) -> None:
    hours = QuietHours(begins=time(22), ends=time(7), zone="Europe/Berlin")
    result = hours.end_after(datetime.fromisoformat(now))
    assert result == (None if end is None else datetime.fromisoformat(end))
    noon = QuietHours(begins=time(12), ends=time(13, 30), zone="UTC")
    assert noon.end_after(datetime(2026, 3, 1, 12, 5, tzinfo=UTC)) == datetime(
        2026, 3, 1, 13, 30, tzinfo=UTC
    )
    assert noon.end_after(datetime(2026, 3, 1, 13, 30, tzinfo=UTC)) is None


def _quiet_now(cast: Cast, name: str) -> None:
    now = datetime.now(UTC)
    begins, ends = (now - timedelta(hours=1)).time(), (now + timedelta(hours=2)).time()
    quiet_hours.set_quiet_hours(
        cast.workspace,
        person(cast, name),
        begins.replace(second=0, microsecond=0),
        ends.replace(second=0, microsecond=0),
        "UTC",
        actor="user:1",
    )


def test_news_waits_for_the_end_of_quiet_hours_unless_it_is_urgent(
    people: Cast, box: Mailbox
) -> None:
    for name in ("operator", "manager"):
        _quiet_now(people, name)
    subscribe(people, "operator")
    subscribe(people, "manager", urgent=True)
    subscribe(people, "auditor")
    fails(people, "publish: HTTP 503")
    sweep_incidents()
    assert len(deliveries()) == 3
    assert Sender().drain(seconds=5) == 2
    assert {to for to, _ in box.mails} == {"manager@example.com", "auditor@example.com"}
    # A breaker is of high priority: everybody hears of it at once.
    store.trip_breaker(people.workspace, {}, reason="prices", actor="user:1")
    sweep_incidents()
    assert Sender().drain(seconds=5) == 3
    assert box.mails[-1][1]["subject"] == "Stopped by a breaker"
    later(hours=3)
    assert Sender().drain(seconds=5) == 1
    assert box.mails[-1][0] == "operator@example.com"
    assert box.mails[-1][1]["subject"] == "Failed: 1 thread of research"


def test_what_is_over_by_the_end_of_quiet_hours_is_not_sent(people: Cast, box: Mailbox) -> None:
    _quiet_now(people, "operator")
    subscribe(people)
    thread = fails(people, "publish: HTTP 503")
    sweep_incidents()
    store.retry(thread, actor="user:1")
    sweep_incidents()
    later(hours=3)
    Sender().drain(seconds=5)
    assert box.mails == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT skipped FROM gp_delivery")
        assert cursor.fetchall() == [("The incident was closed before it was sent.",)]


def test_an_incident_that_nobody_takes_is_passed_on_once(people: Cast, box: Mailbox) -> None:
    second = subscribe(people, "manager", kinds=[])
    subscribe(people, "operator", escalate_to=second, escalate_minutes=15)
    fails(people, "publish: HTTP 503")
    sweep_incidents()
    later(mins=14)
    sweep_incidents()
    assert deliveries() == [("incident.opened", person(people))]
    later(mins=2)
    for _ in range(3):
        sweep_incidents()
    assert deliveries()[1:] == [("incident.escalated", person(people, "manager"))]
    Sender().drain()
    # Two letters are sent side by side: either may arrive first.
    texts = {to: box.text(number) for number, (to, _) in enumerate(box.mails)}
    assert "It is unassigned." in texts["manager@example.com"]
    assert "It is unassigned." not in texts["operator@example.com"]


def test_who_takes_an_incident_is_recorded_and_it_is_not_passed_on(people: Cast) -> None:
    second = subscribe(people, "manager", kinds=[])
    subscribe(people, "operator", escalate_to=second, escalate_minutes=15)
    fails(people, "publish: HTTP 503")
    sweep_incidents()
    [incident] = incidents(people)
    who, other = person(people), person(people, "manager")
    where: dict[str, Any] = {"workspace": people.workspace}
    taken = responses.take(incident.id, person=who, actor=who, **where)
    assert (taken.taken_by, taken.state) == (who, "taken")
    assert responses.take(incident.id, person=who, actor=who, **where) == taken
    with pytest.raises(NotAllowedNow):
        responses.take(incident.id, person=other, actor=other, **where)
    later(hours=5)
    fails(people, "publish: HTTP 500")
    sweep_incidents()
    assert len(deliveries()) == 1  # neither passed on nor told once an hour
    with pytest.raises(NotAllowedNow):
        responses.give_back(incident.id, person=other, actor=other, **where)
    responses.give_back(incident.id, person=who, actor=who, **where)
    sweep_incidents()
    assert ("incident.escalated", other) in deliveries()
    rows = ground.workspace_events(people.workspace).rows
    kinds = [event.kind for event in reversed(rows)]
    assert [kind for kind in kinds if str(kind).startswith("incident.")] == [
        "incident.taken",
        "incident.released",
    ]


def test_a_snoozed_incident_is_silent_and_comes_back(people: Cast) -> None:
    subscribe(people)
    for n in range(3):
        fails(people, f"publish: HTTP {n}")
    sweep_incidents()
    [incident] = incidents(people)
    who, until = person(people), datetime.now(UTC) + timedelta(hours=2)
    row = responses.snooze(incident.id, until, workspace=people.workspace, person=who, actor=who)
    assert (row.state, row.snoozed_by) == ("snoozed", who)
    with pytest.raises(InvalidValue):
        responses.snooze(
            incident.id,
            until - timedelta(hours=3),
            workspace=people.workspace,
            person=who,
            actor=who,
        )
    for n in range(20):
        fails(people, f"publish: HTTP {n}")
    sweep_incidents()
    assert len(deliveries()) == 1
    Sender().drain()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_delivery SET done_at = clock_timestamp()")
    later(hours=3)
    for _ in range(2):
        sweep_incidents()
    assert deliveries()[1:] == [("incident.reminded", who)]


def test_what_had_not_left_when_it_was_snoozed_waits_as_well(people: Cast, box: Mailbox) -> None:
    subscribe(people)
    fails(people, "publish: HTTP 503")
    fails(people, "price: raised KeyError")
    sweep_incidents()
    who, snoozed = person(people), incidents(people)[0].id
    responses.snooze(
        snoozed,
        datetime.now(UTC) + timedelta(hours=2),
        workspace=people.workspace,
        person=who,
        actor=who,
    )
    assert Sender().drain(seconds=5) == 1
    responses.wake(snoozed, workspace=people.workspace, actor=who)
    assert Sender().drain(seconds=5) == 1
    assert len(box.mails) == 2


def test_a_letter_of_what_was_passed_on_says_who_took_it_since(people: Cast, box: Mailbox) -> None:
    second = subscribe(people, "manager", kinds=[])
    subscribe(people, "operator", escalate_to=second, escalate_minutes=15)
    fails(people, "publish: HTTP 503")
    sweep_incidents()
    later(mins=16)
    sweep_incidents()
    [incident] = incidents(people)
    who = person(people)
    responses.take(incident.id, workspace=people.workspace, person=who, actor=who)
    Sender().drain(seconds=5)
    assert "It is assigned." in box.text()
    assert "It is unassigned" not in box.text()


def test_a_snooze_that_is_ended_lets_news_come_again_and_reminds_nobody(people: Cast) -> None:
    subscribe(people)
    fails(people, "publish: HTTP 1")
    sweep_incidents()
    [incident] = incidents(people)
    who = person(people)
    scope: dict[str, Any] = {"workspace": people.workspace, "actor": who}
    with pytest.raises(NotAllowedNow):
        responses.wake(incident.id, **scope)
    responses.snooze(incident.id, datetime.now(UTC) + timedelta(hours=2), person=who, **scope)
    row = responses.wake(incident.id, **scope)
    assert (row.state, row.snoozed_until, row.snoozed_by) == ("open", None, "")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_delivery SET done_at = clock_timestamp()")
    sweep_incidents()
    assert deliveries()[1:] == []
    for n in range(20):
        fails(people, f"publish: HTTP {n}")
    sweep_incidents()
    assert deliveries()[1:] == [("incident.grew", who)]


def test_a_subscription_is_made_changed_and_removed_on_record(cast: Cast) -> None:
    first = subscribe(cast, kinds=[FAILED])
    second = subscribe(cast, "manager")
    where: dict[str, Any] = {"workspace": cast.workspace, "actor": "user:1"}
    assert subscriptions.change(
        first, Choice(agent="payments", escalate_to=second, escalate_minutes=5), **where
    )
    assert not subscriptions.change(first, Choice(agent="payments"), **where)
    with pytest.raises(NotAllowedNow, match="escalates to this one"):
        subscriptions.remove(second, **where)
    assert subscriptions.change(first, Choice(escalate_minutes=0), **where)
    assert queries.subscription(first, workspace=cast.workspace).escalate_to is None
    subscriptions.remove(second, **where)
    with pytest.raises(NotFound):
        subscriptions.remove(second, **where)
    [row] = queries.subscriptions(workspace=cast.workspace, person=person(cast))
    assert (row.kinds, row.agent, row.channel) == ([FAILED], "payments", "email")
    quiet_hours.set_quiet_hours(
        cast.workspace, person(cast), time(22), time(7), "Europe/Berlin", actor="user:1"
    )
    assert quiet_hours.remove_quiet_hours(cast.workspace, person(cast), actor="user:1")
    assert not quiet_hours.remove_quiet_hours(cast.workspace, person(cast), actor="user:1")
    report = verify_workspace(cast.workspace)
    assert report.intact, report.what


@pytest.mark.parametrize(
    ("choice", "path"),
    [
        ({"kinds": ["thread.succeeded"]}, "kinds"),
        ({"label": "team"}, "label"),
        ({"escalate_minutes": 5}, "escalate_minutes"),
        ({"escalate_to": UUID(int=1), "escalate_minutes": 5}, "escalate_to"),
        ({"endpoint": UUID(int=1)}, "endpoint"),
        ({"agent": "x" * 101}, "agent"),
    ],
)
def test_what_a_subscription_cannot_be_is_refused_with_its_place(
    people: Cast, choice: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        subscribe(people, **choice)
    assert refused.value.path.removeprefix("$.") == path
    assert TROUBLES


def test_two_sweepers_send_one_message(real_db: str, loopback: None, settings: Any) -> None:
    """Four sweepers at once, round after round: each incident opens once and is sent once."""
    cast = make_cast()
    subscribe(cast, "operator")
    subscribe(cast, "manager")
    rounds, sweepers = 5, 4
    errors: list[BaseException] = []

    def sweep(barrier: threading.Barrier) -> None:
        try:
            barrier.wait()
            for _ in range(3):
                sweep_incidents()
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    for n in range(rounds):
        for thread in range(8):
            fails(cast, f"round {'abcde'[n]}: HTTP {thread}")
        barrier = threading.Barrier(sweepers)
        threads = [threading.Thread(target=sweep, args=(barrier,)) for _ in range(sweepers)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert errors == []
    rows = incidents(cast)
    assert [(row.threads, row.affected) for row in rows] == [(8, 8)] * rounds
    assert len(deliveries()) == 2 * rounds
    assert {kind for kind, _ in deliveries()} == {"incident.opened"}
