"""Many threads that fail alike are one incident and one message, however often somebody looks."""

from __future__ import annotations

import pytest
from django.db import connection

from approvals.incidents import queries, responses
from approvals.incidents.fingerprints import alike, fingerprint
from approvals.incidents.sweep import prune, sweep_incidents
from approvals.notify.sender import Sender
from approvals.notify.texts.incident_kinds import (
    ATTENTION,
    BREAKER,
    DAMAGED,
    FAILED,
    OVER_BUDGET,
    STUCK,
)
from approvals.verification.reports import keep_report
from checkpoints import store
from checkpoints.chain import ChainReport
from tests.support.cast import Cast
from tests.unit.approvals.news import endpoint
from tests.unit.approvals.post import Hook, Mailbox
from tests.unit.dashboard import scene
from tests.unit.workers.slot.test_sweep_rows import refusing

from .scenes import AT_CAP, deliveries, fails, incidents, later, person, subscribe

pytestmark = [pytest.mark.usefixtures("loopback"), pytest.mark.requirement("E01")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("publish: raised KeyError: 'tea'", "publish: raised  KeyError: 'tea'"),
        ("HTTP 503 after 3 tries", "HTTP 429 after 12 tries"),
        (
            "No order 0192ab12-1234-7abc-8abc-0123456789ab at 12:30",
            "No order 0193ffff-1234-7abc-8abc-0123456789ab at 08:05",
        ),
        ("spent 1,204.50; it takes a1b2c3d4", "spent 7; it takes 99ff00aa"),
        ("order-a1b2c3d4 is gone", "order-99ff00aa is gone"),
        ("lost web-frontend-7d9f8b6c5-x2x4z", "lost web-frontend-5c6b8f9d7-q9k2m"),
        ("no request req_Kx3abcDEFghi", "no request req_9aZq81LmNop"),
        ("fetch-2-prices: raised S3UploadError 12", "fetch-7-prices: raised S3UploadError 15"),
    ],
)
def test_reasons_that_differ_in_numbers_and_ids_are_alike(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("publish: raised S3UploadError", "publish: raised Oauth2TokenError"),
        ("s3_upload: raised KeyError", "ec2_launch: raised KeyError"),
        ("fetch-2-prices: timed out", "step-3-publish: timed out"),
        ("utf8-decoder failed", "sha256_mismatch failed"),
    ],
)
def test_names_with_digits_are_no_ids(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_other_words_are_another_reason() -> None:
    assert fingerprint("price: raised KeyError") != fingerprint("price: raised ValueError")
    assert alike("Order 12 of 0192ab12-1234-7abc-8abc-0123456789ab") == "order # of #"


def test_a_hundred_threads_that_fail_alike_are_one_incident_and_two_messages(
    people: Cast, box: Mailbox
) -> None:
    subscribe(people, "operator")
    subscribe(people, "manager")
    first = fails(people, "publish: HTTP 503 for order 1")
    assert sweep_incidents() > 0
    for number in range(2, 101):
        fails(people, f"publish: HTTP 503 for order {number}")
    for _ in range(3):
        sweep_incidents()
    [incident] = incidents(people)
    assert (incident.threads, incident.affected, incident.state) == (100, 100, "open")
    assert (incident.agent, incident.kind) == ("research", FAILED)
    assert incident.reason == "publish: HTTP 503 for order 1"
    # The opening had not left yet when the others failed: it says what holds when it leaves.
    both = [("incident.opened", person(people, n)) for n in ("operator", "manager")]
    assert sorted(deliveries()) == sorted(both)
    assert Sender().drain() == 2
    assert {to for to, _ in box.mails} == {"manager@example.com", "operator@example.com"}
    assert box.mails[0][1]["subject"] == "Failed: 100 threads of research"
    assert f"https://gatepost.example/incidents/{incident.id}/?src=mail" in box.text()
    assert "publish: HTTP 503 for order 1" in box.text()
    for number in range(101, 130):
        fails(people, f"publish: HTTP 503 for order {number}")
    sweep_incidents()
    assert len(deliveries()) == 2
    later(hours=2)
    for _ in range(2):
        sweep_incidents()
    assert [kind for kind, _ in deliveries()[2:]] == ["incident.grew"] * 2
    assert Sender().drain() == 2
    assert box.mails[-1][1]["subject"] == "Failed: 129 threads of research"
    assert first in {row.id for row in queries.newest_threads(incident.id, 200)}
    assert len(queries.newest_threads(incident.id)) == 25


def test_each_kind_of_trouble_is_an_incident_of_its_own(people: Cast, hook: Hook) -> None:
    where = endpoint(people, "webhook", target=hook.url, events=["approval.reminder"])
    subscribe(people, endpoint=where)
    fails(people, "publish: raised KeyError: 'tea'")
    fails(people, "No upgrade from schema 1 to 2 is registered", ATTENTION)
    fails(people, AT_CAP, OVER_BUDGET)
    fails(people, "A person paused it.", OVER_BUDGET)  # no cap: nobody is in trouble
    stuck = scene.start(people.workspace, scene.make_agent())
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_thread SET status_since = status_since - interval '1 h', "
            "last_at = last_at - interval '1 h' WHERE id = %s",
            [stuck],
        )
    store.note_stuck()
    damaged = scene.start(people.workspace, scene.make_agent())
    keep_report(ChainReport(damaged, False, 0, 1, "event 1 was altered"), actor="user:1")
    breaker = store.trip_breaker(
        people.workspace, {"agent": "other"}, reason="prices", actor="user:1"
    )
    sweep_incidents()
    by_kind = {row.kind: row for row in incidents(people)}
    assert by_kind.keys() == {FAILED, ATTENTION, OVER_BUDGET, STUCK, DAMAGED, BREAKER}
    assert {row.threads for row in by_kind.values()} == {1}
    assert by_kind[BREAKER].agent == "other"
    assert [row.id for row in queries.newest_threads(by_kind[STUCK].id)] == [stuck]
    assert Sender().drain() == 6
    bodies = {got.json["data"]["trouble"]: got.json for got in hook.got}
    assert bodies.keys() == by_kind.keys()
    for kind, body in bodies.items():
        assert body["type"] == "incident.opened"
        assert body["data"]["reason"] == by_kind[kind].reason
        assert body["data"]["url"].endswith(f"/incidents/{by_kind[kind].id}/")
    store.release_breaker(breaker.id, workspace=people.workspace, reason="right", actor="user:1")
    sweep_incidents()
    assert queries.incident(by_kind[BREAKER].id, workspace=people.workspace).state == "closed"


def test_an_incident_closes_when_no_thread_is_in_trouble_any_more(people: Cast) -> None:
    subscribe(people)
    threads = [fails(people, f"publish: HTTP {n}") for n in range(3)]
    sweep_incidents()
    store.retry(threads[0], actor="user:1")
    sweep_incidents()
    [incident] = incidents(people)
    assert (incident.threads, incident.affected, incident.closed_at) == (3, 2, None)
    for thread in threads[1:]:
        store.retry(thread, actor="user:1")
    sweep_incidents()
    [incident] = incidents(people)
    assert (incident.affected, incident.state, incident.closed_by) == (0, "closed", "")
    fails(people, "publish: HTTP 9")
    sweep_incidents()
    assert [row.state for row in incidents(people)] == ["open", "closed"]


def test_a_thread_that_fails_again_counts_once(people: Cast) -> None:
    thread = fails(people, "publish: HTTP 1")
    fails(people, "publish: HTTP 2")
    sweep_incidents()
    store.retry(thread, actor="user:1")
    sweep_incidents()
    work = scene.leases.acquire(thread, owner="worker:here")
    assert work is not None
    store.leave(work, scene.EventKind.THREAD_FAILED, reason="publish: HTTP 3")
    for _ in range(2):
        sweep_incidents()
    [incident] = incidents(people)
    assert (incident.threads, incident.affected) == (2, 2)


def test_what_a_person_closed_stays_closed_and_the_next_failure_opens_another(
    people: Cast,
) -> None:
    fails(people, "publish: HTTP 1")
    sweep_incidents()
    [incident] = incidents(people)
    who = person(people)
    responses.close(incident.id, workspace=people.workspace, person=who, reason="known", actor=who)
    for _ in range(2):
        sweep_incidents()
    [closed] = incidents(people)
    assert (closed.closed_by, closed.close_reason) == (who, "known")
    fails(people, "publish: HTTP 2")
    sweep_incidents()
    assert [row.threads for row in incidents(people, state="open")] == [1]


def test_a_row_that_fails_is_set_aside_and_named_and_the_others_go_on(people: Cast) -> None:
    good = fails(people, "publish: HTTP 1")
    bad = fails(people, "publish: HTTP 2")
    with refusing("gp_incident_thread", "subject_id", bad):
        sweep_incidents()
        [incident] = incidents(people)
        assert [row.id for row in queries.newest_threads(incident.id)] == [good]
        with connection.cursor() as cursor:
            cursor.execute("SELECT part, row_id FROM gp_set_aside")
            assert cursor.fetchall() == [("incident", bad)]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_set_aside SET next_at = clock_timestamp() - interval '1 s'")
    sweep_incidents()
    [incident] = incidents(people)
    assert incident.threads == 2


def test_incidents_that_were_closed_long_ago_are_dropped(people: Cast) -> None:
    thread = fails(people, "publish: HTTP 1")
    sweep_incidents()
    store.retry(thread, actor="user:1")
    sweep_incidents()
    assert prune() == 0
    later(days=1_000)
    assert prune() == 1
    assert incidents(people) == []
