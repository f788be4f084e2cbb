"""News from the outbox by mail and webhook, through real servers: who, digests, tries, limits."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from approvals import gates
from approvals.notify import due_deliveries, queries
from approvals.notify.fan_out import prune, spread
from approvals.notify.sender import Sender
from approvals.rules.terms import Seat, Terms
from approvals.signals import decision_announced
from checkpoints import queries as threads
from checkpoints import store
from tests.support.cast import Cast
from tests.unit.approvals import post
from tests.unit.approvals.news import endpoint, open_request, states, tell
from tests.unit.approvals.post import Hook, Mailbox
from tests.unit.dashboard import scene

pytestmark = pytest.mark.usefixtures("loopback")
HOSTILE = "Pay\r\nBcc: all@example.com\u202e100\u200b <b>x</b>"


# --- mail -----------------------------------------------------------------------------------------


@pytest.mark.requirement("C34")
def test_those_who_may_decide_get_a_summary_and_the_way(people: Cast, box: Mailbox) -> None:
    made = endpoint(people, "email")
    args = {"report": "r", "amount": "48200.00", "currency": "EUR"}
    row = open_request(people, title=HOSTILE, args=args, risk="high", expires_in=3000)
    tell(row)
    assert Sender().drain() == 2
    assert sorted(to for to, _ in box.mails) == [
        "manager@example.com",
        "second_manager@example.com",
    ]
    mail, text, html = box.mails[0][1], box.text(), box.html()
    assert (
        mail["Subject"] == "Approval needed: Pay Bcc: all@example.com[U+202E]100[U+200B] <b>x</b>"
    )
    assert mail["Bcc"] is None
    assert mail["To"] == box.mails[0][0]
    address = f"https://gatepost.example/approvals/{row.id}/?src=mail"
    for line in (
        address,
        "Amount: 48200.00 EUR",
        "Risk: high; it can be undone",
        "UTC (in 49 min)",
    ):
        assert line in text, text
    assert "[U+202E]100[U+200B]" in text
    assert "\u202e" not in text + html
    assert "<b>x</b>" not in html
    assert f'href="{address}"' in html
    assert states(made, people) == ["done", "done"]
    # Taken twice, told once.
    Sender().drain()
    assert len(box.mails) == 2


def test_terms_and_endpoint_say_who_is_told(people: Cast, box: Mailbox) -> None:
    team = Group.objects.create(name="finance")
    people.users["second_manager"].groups.add(team)
    manager = f"user:{people.users['manager'].pk}"
    endpoint(people, "email")

    def recipients(terms: Terms | None, kind: str = "approval.requested") -> set[str]:
        box.mails.clear()
        tell(open_request(people, terms=terms), kind)
        Sender().drain()
        return {to.partition("@")[0] for to, _ in box.mails}

    assert recipients(None) == {"manager", "second_manager"}
    assert recipients(Terms(stages=(Seat(teams=("finance",)),))) == {"second_manager"}
    two_stages = Terms(stages=(Seat(people=("manager",)), Seat(teams=("finance",))))
    assert recipients(two_stages) == {"manager"}
    assert recipients(Terms(four_eyes=True, barred=(manager,))) == {"second_manager"}
    first = Terms(
        stages=(Seat(people=("manager",)),),
        on_expiry="escalate",
        escalate_to=Seat(teams=("finance",)),
        escalate_for=3600,
    )
    open_request(people, terms=first, expires_in=0.0)
    box.mails.clear()
    assert gates.expire_due() == 1
    Sender().drain()
    assert {to.partition("@")[0] for to, _ in box.mails} == {"second_manager"}
    people.users["second_manager"].is_active = False
    people.users["second_manager"].save()
    assert recipients(None) == {"manager"}


def test_an_endpoint_for_some_people_or_one_address(people: Cast, box: Mailbox) -> None:
    endpoint(people, "email", name="one", people=["manager"])
    endpoint(people, "email", "desk@example.com", name="desk")
    endpoint(people, "email", name="all")
    tell(open_request(people))
    Sender().drain()
    # Whom two endpoints name gets one mail.
    assert sorted(to.partition("@")[0] for to, _ in box.mails) == [
        "desk", "manager", "second_manager",
    ]  # fmt: skip


@pytest.mark.parametrize("change", ["role", "login"])
def test_who_left_since_the_news_was_spread_gets_no_mail(
    people: Cast, box: Mailbox, change: str
) -> None:
    endpoint(people, "email")
    tell(open_request(people))
    spread()
    user = people.users["manager"]
    if change == "role":
        for _, _, role in threads.memberships(user.pk):
            store.withdraw(people.workspace, user.pk, role, actor="test")
    else:
        user.is_active = False
        user.save()
    Sender().drain()
    assert "manager" not in {to.partition("@")[0] for to, _ in box.mails}
    assert box.mails


def test_what_is_decided_meanwhile_asks_nobody(people: Cast, box: Mailbox) -> None:
    made = endpoint(people, "email")
    row = open_request(people)
    tell(row)
    spread()
    gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=gates.Reviewer("user:2", "manager"),
        verdict="approve",
        proposal_hash=row.proposal_hash,
    )
    Sender().drain()
    assert box.mails == []
    assert states(made, people) == ["skipped", "skipped"]
    tell(row)
    Sender().drain()
    assert states(made, people) == ["skipped", "skipped"]


def test_a_mail_server_that_refuses_is_tried_again_and_then_failed(
    people: Cast, box: Mailbox, settings: Any
) -> None:
    made = endpoint(people, "email", people=["manager"])
    box.answer = "451 come back, dear sk-secret-user"
    settings.MAILERS["default"]["OPTIONS"] |= {"username": "", "password": "sk-secret-user"}
    tell(open_request(people))
    assert Sender().drain() == 4  # once, and three times again
    [row] = queries.deliveries(made, workspace=people.workspace)
    assert (row.state, row.attempts, row.code) == ("failed", 4, 451)
    assert row.error == "The mail server answered 451: come back, dear [masked]"
    assert queries.lag().failed == 1
    assert [one.id for one in queries.troubled()] == [made]


def test_no_server_and_no_address_are_told(people: Cast, settings: Any) -> None:
    made = endpoint(people, "email")
    settings.MAILERS = {"default": {"BACKEND": "django.core.mail.backends.dummy.EmailBackend"}}
    people.users["manager"].email = ""
    people.users["manager"].save()
    tell(open_request(people))
    Sender().drain()
    results = {one.error for one in queries.deliveries(made, workspace=people.workspace)}
    assert results == {
        "No mail server is set: EMAIL_URL.",
        "The person has no mail address; add one in the records.",
    }


@pytest.mark.requirement("C34")
def test_a_request_and_its_decision_tell_by_themselves(
    people: Cast, box: Mailbox, hook: Hook
) -> None:
    endpoint(people, "email", people=["manager"])
    endpoint(people, "webhook", hook.url)
    row = scene.waiting(people.workspace, scene.make_agent(), risk="high")
    Sender().drain()
    assert [str(mail["Subject"]) for _, mail in box.mails] == [f"Approval needed: {row.title}"]
    gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=gates.Reviewer("user:2", "manager"),
        verdict="approve",
        proposal_hash=row.standing_hash,
    )
    Sender().drain()
    assert [got.json["type"] for got in hook.got] == ["approval.requested", "approval.decided"]
    data = hook.got[-1].json["data"]
    assert (data["thread"], data["approval"]) == (str(row.thread), str(row.id))
    assert (data["outcome"], data["by"]) == ("approve", "user:2")
    assert data["checkpoint"]
    assert len(box.mails) == 1


# --- digests --------------------------------------------------------------------------------------


def later(minutes: float) -> None:
    """So much time passes for all deliveries."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_delivery SET next_at = next_at - make_interval(secs => %s), "
            "done_at = done_at - make_interval(secs => %s)",
            (minutes * 60, minutes * 60),
        )


def test_a_flood_is_one_message(people: Cast, box: Mailbox, settings: Any) -> None:
    settings.GATEPOST_DIGEST_AFTER = 3
    endpoint(people, "email", people=["manager"], digest=10)
    rows = [
        open_request(people, title=f"Report {n}", risk="high" if n < 4 else "low")
        for n in range(20)
    ]
    for row in rows:
        tell(row)
    Sender().drain()
    assert [mail["Subject"] for _, mail in box.mails] == ["20 requests, 4 of high risk to review"]
    for row in rows:
        assert f"/approvals/{row.id}/?src=mail" in box.text()
        assert f"/approvals/{row.id}/?src=mail" in box.html()


def test_after_a_few_the_rest_of_the_window_comes_together(
    people: Cast, box: Mailbox, settings: Any
) -> None:
    settings.GATEPOST_DIGEST_AFTER = 3
    made = endpoint(people, "email", people=["manager"], digest=10)
    for n in range(3):
        tell(open_request(people, title=f"Report {n}"))
        Sender().drain()
    assert len(box.mails) == 3
    for n in range(3, 9):
        tell(open_request(people, title=f"Report {n}"))
        Sender().drain()
    assert len(box.mails) == 3
    assert states(made, people) == ["done"] * 3 + ["open"] * 6
    later(9)
    Sender().drain()
    assert len(box.mails) == 3
    later(2)
    Sender().drain()
    assert len(box.mails) == 4
    assert box.mails[-1][1]["Subject"] == "6 requests to review"
    assert set(states(made, people)) == {"done"}


def test_what_has_to_be_decided_soon_is_not_held_back(
    people: Cast, box: Mailbox, settings: Any
) -> None:
    settings.GATEPOST_DIGEST_AFTER = 1
    endpoint(people, "email", people=["manager"], digest=60)
    tell(open_request(people, title="first"))
    Sender().drain()
    tell(open_request(people, title="can wait", expires_in=86400))
    Sender().drain()
    assert len(box.mails) == 1
    tell(open_request(people, title="cannot wait", expires_in=600))
    Sender().drain()
    assert len(box.mails) == 2
    assert "cannot wait" in box.text()


# --- webhooks -------------------------------------------------------------------------------------


@pytest.mark.requirement("C34")
def test_an_agent_that_works_elsewhere_hears_of_a_decision(cast: Cast, hook: Hook) -> None:
    endpoint(cast, "webhook", hook.url, events=["approval.decided"])
    row = open_request(cast)
    tell(row, "approval.requested")
    news = tell(row, "approval.decided", outcome="approve")
    head = threads.thread(row.thread, workspace=cast.workspace).head
    Sender().drain()
    [got] = hook.got
    assert got.headers["webhook-id"] == f"msg_{news.hex}"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["host"] == f"127.0.0.1:{hook.port}"
    assert got.json["type"] == "approval.decided"
    assert got.json["data"] == {
        "workspace": str(cast.workspace),
        "thread": str(row.thread),
        "checkpoint": str(head),
        "approval": str(row.id),
        "outcome": "approve",
        "proposal_hash": row.standing_hash,
        "url": f"https://gatepost.example/approvals/{row.id}/",
    }
    assert len(got.body) < 20_000


@pytest.mark.requirement("C34")
def test_the_row_of_a_decision_also_wakes_a_worker(
    cast: Cast, django_capture_on_commit_callbacks: Any
) -> None:
    row = open_request(cast)
    gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=gates.Reviewer("user:2", "manager"),
        verdict="approve",
        proposal_hash=row.proposal_hash,
    )
    with connection.cursor() as cursor:  # that of the gates, where they write one
        cursor.execute("UPDATE gp_outbox SET done_at = clock_timestamp()")
    tell(row, "approval.decided", outcome="approve")
    rung: list[tuple[UUID, str]] = []

    def ring(thread_id: UUID, queue: str, **_: Any) -> None:
        rung.append((thread_id, queue))

    decision_announced.connect(ring)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            Sender().drain()
            Sender().drain()
    finally:
        decision_announced.disconnect(ring)
    assert rung == [(row.thread, "gatepost")]


@pytest.mark.requirement("C35")
def test_whatever_goes_wrong_it_is_sent_again_as_the_same(
    cast: Cast, hook: Hook, settings: Any
) -> None:
    settings.GATEPOST_SEND_SECONDS = 0.5
    settings.GATEPOST_DELIVERY_PAUSES = [0.0] * 10
    made = endpoint(cast, "webhook", hook.url)
    hook.answers = [503, 500, 302, post.hangs(1), post.drips, 404]
    hook.headers = {"Location": f"http://127.0.0.1:{hook.port}/elsewhere"}
    tell(open_request(cast), "approval.decided", outcome="approve")
    Sender().drain()
    assert len(hook.got) == 7
    assert {got.path for got in hook.got} == {"/in"}  # nobody followed the redirect
    assert len({got.body for got in hook.got}) == 1
    assert len({got.headers["webhook-id"] for got in hook.got}) == 1
    [row] = queries.deliveries(made, workspace=cast.workspace)
    assert (row.state, row.attempts, row.code, row.error) == ("done", 7, 204, "")
    Sender().drain()
    assert len(hook.got) == 7


def test_pauses_grow_over_about_a_day_and_then_it_is_failed(cast: Cast, settings: Any) -> None:
    from dashboard.configuration.mail import PAUSES

    settings.GATEPOST_DELIVERY_PAUSES = PAUSES
    settings.GATEPOST_WEBHOOK_HTTP = True
    made = endpoint(cast, "webhook", "http://127.0.0.1:9/nobody-listens")
    tell(open_request(cast), "approval.decided")
    waited = []
    for _ in range(len(PAUSES)):
        Sender().drain()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT extract(epoch FROM next_at - clock_timestamp()) FROM gp_delivery"
            )
            waited.append(float(cursor.fetchone()[0]))
            cursor.execute("UPDATE gp_delivery SET next_at = clock_timestamp()")
    for seconds, pause in zip(waited, PAUSES, strict=True):
        assert 0.74 * pause - 1 < seconds < 1.26 * pause
    assert 20 * 3600 < sum(PAUSES) < 28 * 3600
    assert waited != sorted(PAUSES)  # there is chance in it
    Sender().drain()
    [row] = queries.deliveries(made, workspace=cast.workspace)
    assert (row.state, row.attempts) == ("failed", len(PAUSES) + 1)
    assert row.error == "The endpoint refused the connection."


def test_retry_after_and_gone_are_understood(cast: Cast, hook: Hook) -> None:
    made = endpoint(cast, "webhook", hook.url)
    hook.headers = {"Retry-After": "120"}
    hook.answers = [503, 410]
    tell(open_request(cast), "approval.decided")
    Sender().drain()
    assert len(hook.got) == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM next_at - clock_timestamp()) FROM gp_delivery")
        assert 115 < cursor.fetchone()[0] <= 120
        cursor.execute("UPDATE gp_delivery SET next_at = clock_timestamp()")
    Sender().drain()
    assert states(made, cast) == ["failed"]


def test_little_of_an_answer_is_read(cast: Cast, hook: Hook) -> None:
    made = endpoint(cast, "webhook", hook.url)
    hook.answers = [post.floods]
    tell(open_request(cast), "approval.decided")
    Sender().drain()
    assert states(made, cast) == ["done"]


def test_a_long_text_is_cut_and_says_so(cast: Cast, hook: Hook) -> None:
    endpoint(cast, "webhook", hook.url)
    more = {f"part{n}": "y" * 2000 for n in range(12)}
    tell(open_request(cast), "approval.decided", outcome="reject", comment="é" * 5000, **more)
    Sender().drain()
    [got] = hook.got
    assert len(got.body) < 20_000
    data = got.json["data"]
    assert data["outcome"] == "reject"
    assert "comment" in data["cut"]
    assert data["thread"]


@pytest.mark.slow
def test_one_hanging_endpoint_stops_no_other(
    cast: Cast, people: Cast, hook: Hook, box: Mailbox, settings: Any
) -> None:
    settings.GATEPOST_SEND_SECONDS = 120  # nothing is given up meanwhile
    endpoint(people, "webhook", hook.url)
    endpoint(people, "email", people=["manager"])
    release = threading.Event()
    hook.answers = [post.hangs_until(release) for _ in range(4)]
    rows = [open_request(people) for _ in range(6)]
    for row in rows:
        tell(row)
    sender = Sender()
    sender.turn()
    from tests.faults.embedded.helpers import wait_until

    def arrived() -> bool:
        sender.turn()
        return len(box.mails) == 6

    try:
        wait_until(arrived, seconds=30, what="mails beside a webhook that hangs")
    finally:
        release.set()
    sender.drain()
    assert len(hook.got) >= 6


@pytest.mark.slow
def test_a_slow_server_is_no_dead_sender(
    people: Cast, box: Mailbox, settings: Any, monkeypatch: Any
) -> None:
    """Its claim is renewed while the message is on its way, so nobody else sends it again."""
    monkeypatch.setattr(due_deliveries, "claim_seconds", lambda: 60.0)
    made = endpoint(people, "email", people=["manager"])
    box.seconds = 2
    tell(open_request(people))
    first, second = Sender(), Sender()
    assert first.turn() == 1
    for _ in range(3):
        # A renewed claim lasts longer than two thirds of it; one that is not ends here.
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE gp_delivery SET claimed_until = claimed_until - interval '45 seconds'"
            )
        first._renewed -= 45
        assert (first.turn(), second.turn()) == (0, 0)
    first.drain()
    assert len(box.mails) == 1
    assert states(made, people) == ["done"]


def test_what_takes_for_ever_is_given_up(people: Cast, box: Mailbox, settings: Any) -> None:
    settings.GATEPOST_SEND_SECONDS = 0.1  # the mail server may still take five
    settings.GATEPOST_DELIVERY_PAUSES = []
    made = endpoint(people, "email", people=["manager"])
    box.seconds = 1.5
    tell(open_request(people))
    Sender().drain()
    [row] = queries.deliveries(made, workspace=people.workspace)
    assert (row.state, row.error) == ("failed", "It did not end within 0.6 s.")


def test_what_is_long_over_is_dropped_and_nothing_else(cast: Cast, hook: Hook) -> None:
    made = endpoint(cast, "webhook", hook.url)
    row = open_request(cast)
    tell(row, "approval.decided", outcome="approve")
    Sender().drain()
    hook.answers = [503] * 4
    waits = tell(row, "approval.decided")
    spread()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM gp_outbox WHERE kind = 'approval.requested'")
        assert prune() == 0
        cursor.execute("UPDATE gp_outbox SET done_at = done_at - interval '91 days'")
        assert prune() == 1
        cursor.execute("SELECT id FROM gp_outbox WHERE approval_id = %s", [row.id])
        assert cursor.fetchall() == [(waits,)]
    assert states(made, cast) == ["open"]


def test_the_only_links_are_ours(people: Cast, box: Mailbox) -> None:
    endpoint(people, "email", people=["manager"])
    row = open_request(
        people, title="Approve at https://evil.example/x", args={"amount": "javascript://x"}
    )
    tell(row)
    Sender().drain()
    for text in (box.text(), box.html(), str(box.mails[0][1]["Subject"])):
        assert "https[:]//evil.example/x" in text
        assert {part.partition("/")[0] for part in text.split("://")[1:]} <= {"gatepost.example"}
