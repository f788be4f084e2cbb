"""Whatever is altered, and whoever finds it, every place where people look says so in red."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.notify.sender import Sender
from approvals.queries import ApprovalRow
from approvals.verification.reports import keep_report
from checkpoints import queries
from checkpoints.chain import CHECKS, ChainReport
from checkpoints.views import VerificationRow
from dashboard.live import metrics, regions
from dashboard.operate.doctor import lag
from dashboard.operate.doctor.findings import Seen
from dashboard.records.background import verification as background
from dashboard.threads.page import past
from dashboard.threads.page.thread import ThreadPage
from tests.support.cast import Cast
from tests.unit.approvals import post
from tests.unit.approvals.news import endpoint
from tests.unit.approvals.post import Mailbox
from tests.unit.checkpoints.chain.test_chain import CHECKPOINTS, EVENTS
from tests.unit.dashboard import scene
from tests.unit.dashboard.carried import run
from tests.unit.dashboard.records.test_verify import alter

pytestmark = pytest.mark.django_db
LOGGED = "log of the workspace"
# Started, acquired, committed, committed: the fourth event names checkpoint 2.

EVENT = "UPDATE gp_event SET {} WHERE thread_id = %s::uuid AND seq = 3"
CHECKPOINT = "UPDATE gp_checkpoint SET {} WHERE thread_id = %s::uuid AND number = 2"
ROWS = {
    "a deleted event": "DELETE FROM gp_event WHERE thread_id = %s::uuid AND seq = 3",
    "a deleted checkpoint": "DELETE FROM gp_checkpoint WHERE thread_id = %s::uuid AND number = 2",
    "a deleted request": "WITH a AS (DELETE FROM gp_approval WHERE thread_id = %s::uuid "
    "RETURNING id) DELETE FROM gp_decision WHERE approval_id IN (SELECT id FROM a)",
    "another outcome": "UPDATE gp_approval SET outcome = 'reject' WHERE thread_id = %s::uuid",
    "another decider": "UPDATE gp_decision SET reviewer = 'user:999' WHERE approval_id IN "
    "(SELECT id FROM gp_approval WHERE thread_id = %s::uuid)",
    "another title": "UPDATE gp_thread SET title = 'Other' WHERE id = %s::uuid",
    "another head": "UPDATE gp_thread SET head = gen_random_uuid() WHERE id = %s::uuid",
}
KINDS = (
    {f"event, {name}": EVENT.format(change) for name, (change, _) in EVENTS.items()}
    | {
        f"checkpoint, {name}": CHECKPOINT.format(change)
        for name, (change, _) in CHECKPOINTS.items()
    }
    | ROWS
)


# Of a request that is gone there is no row and no page.
GONE = {
    "a deleted request": {
        "decision",
        "done box",
        "request in the API",
        "approvals list",
        "decisions list",
    }
}


@pytest.fixture
def box(settings: Any) -> Iterator[Mailbox]:
    with post.mail_server() as server:
        settings.MAILERS = post.mailers(server.port)
        yield server


@dataclass
class Audited:
    """A thread whose request was decided, and people who look."""

    cast: Cast
    row: ApprovalRow
    auditor: Client

    @property
    def thread(self) -> UUID:
        return self.row.thread

    def html(self, address: str) -> str:
        answer = self.auditor.get(address)
        assert answer.status_code == 200, (address, answer.status_code)
        return answer.content.decode()

    def json(self, address: str) -> Any:
        return json.loads(self.html(f"/api/v1{address}"))


@pytest.fixture
def audited(cast: Cast) -> Audited:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    for report in ("draft", "report"):
        scene.step(work, report=report)
    row = scene.gate(work)
    form = {"verdict": "approve", "proposal_hash": row.standing_hash}
    answer = cast.client("manager").post(f"/approvals/{row.id}/decide/", form)
    assert answer.status_code == 303
    return Audited(cast, row, cast.client("auditor"))


def by_page(audited: Audited) -> None:
    answer = audited.auditor.post(f"/threads/{audited.thread}/verify/", follow=True)
    notes = re.findall(
        r'<div class="note ([a-z-]+)[^>]*>(.*?)</div>', answer.content.decode(), re.S
    )
    assert "t-fail" in {tone for tone, _ in notes}
    assert "t-done" not in {tone for tone, _ in notes}, "damage is not a success"


def by_command(audited: Audited) -> None:
    assert run("verify")[0] == 1


def in_background(audited: Audited) -> None:
    assert list(background.verify_everything(owner="worker:vm:1:boot", every_seconds=600))


FINDERS = (by_page, by_command, in_background)


@pytest.mark.rubric(29)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "finder"),
    list(zip(KINDS, itertools.cycle(FINDERS), strict=False)),
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
@pytest.mark.altered
@pytest.mark.requirement("A06")
def test_every_kind_of_damage_shows_everywhere(
    audited: Audited, kind: str, finder: Callable[[Audited], None]
) -> None:
    alter(KINDS[kind], audited.thread)
    finder(audited)
    hidden = {
        name
        for name, shows in PLACES.items()
        if name not in GONE.get(kind, ()) and not shows(audited)
    }
    assert not hidden


def test_no_place_shows_damage_where_there_is_none(audited: Audited) -> None:
    assert not [name for name, shows in PLACES.items() if shows(audited)]


# Every page, fragment and answer that shows the thread, its checkpoints or its request.
SHOWING = (
    "/",
    "/?damaged=1",
    "/approvals/?box=done",
    "/threads/{thread}/",
    "/threads/{thread}/?tab=state",
    "/threads/{thread}/?cp=1",
    "/threads/{thread}/?event=1",
    "/approvals/{request}/",
    "/admin/",
    "/admin/checkpoints/thread/",
    "/admin/checkpoints/thread/{thread}/change/",
    "/admin/checkpoints/event/?thread_id={thread}",
    "/admin/checkpoints/checkpoint/?thread_id={thread}",
    "/admin/approvals/approval/?thread_id={thread}",
    "/api/v1/threads/",
    "/api/v1/threads/{thread}/",
    "/api/v1/threads/{thread}/checkpoints/",
    "/api/v1/approvals/{request}/",
)
VERIFIED = re.compile(r'#i-shield|all intact|events verified|</svg>intact|"intact": ?true')


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["event, actor", "a deleted checkpoint", "another outcome"])
@pytest.mark.altered
@pytest.mark.requirement("A06")
def test_no_page_of_a_damaged_thread_has_a_mark_of_what_is_verified(
    audited: Audited, kind: str
) -> None:
    def marked() -> set[str]:
        results = set()
        for address in SHOWING:
            address = address.format(thread=audited.thread, request=audited.row.id)
            answer = audited.auditor.get(address)
            # A checkpoint that was deleted has no address.
            assert answer.status_code in ((200, 404) if "cp=" in address else (200,)), address
            if VERIFIED.search(answer.content.decode()):
                results.add(address)
        for name in sorted(regions.of_topic("thread")):
            page = ThreadPage(audited.cast.workspace, audited.thread)
            if VERIFIED.search(regions.render(page, name, frozenset({"auditor"}))):
                results.add(name)
        return results

    in_background(audited)
    assert len(marked()) > 4, "the marks are looked for by their true look"
    page = ThreadPage(audited.cast.workspace, audited.thread)
    before = past.state_key(page)
    alter(KINDS[kind], audited.thread)
    by_page(audited)
    assert not marked()
    again = ThreadPage(audited.cast.workspace, audited.thread)
    assert past.state_key(again) != before, "a kept rendering is not pushed again"


def test_the_kinds_are_many() -> None:
    assert len(KINDS) >= 30


def test_damage_is_a_fact_until_a_verification_that_looks_at_no_less_finds_none(
    audited: Audited,
) -> None:
    thread = audited.thread
    alter("UPDATE gp_event SET actor = 'user:999' WHERE thread_id = %s::uuid AND seq = 2", thread)
    by_page(audited)
    first = verified(audited)
    assert (first.broken_seq, first.found_by) == (2, f"user:{audited.cast.users['auditor'].pk}")
    by_command(audited)
    again = verified(audited)
    assert (again.found_at, again.found_by) == (first.found_at, first.found_by), "found once"
    assert again.checked_at > first.checked_at
    alter(
        "UPDATE gp_event SET actor = 'worker:1:boot' WHERE thread_id = %s::uuid AND seq = 2", thread
    )
    in_background(audited)
    assert not verified(audited).intact, "the page looked at files as well"
    assert run("verify")[0] == 0
    assert verified(audited).intact
    assert not [name for name, shows in PLACES.items() if name != LOGGED and shows(audited)]
    kinds = [row.kind for row in queries.workspace_events(audited.cast.workspace).rows]
    assert kinds[:2] == ["record.restored", "record.damaged"]
    assert kinds.count("record.damaged") == 1


def test_an_earlier_place_is_news_and_a_shallower_look_hides_nothing(audited: Audited) -> None:
    def keep(seq: int | None, *checks: str) -> Any:
        report = ChainReport(audited.thread, seq is None, 5, seq, f"Event {seq}.", checks=checks)
        return keep_report(report, actor="user:1")

    assert keep(4, *CHECKS).news == "record.damaged"
    assert keep(None, *CHECKS[:2]).row.broken_seq == 4
    assert keep(5, *CHECKS[:1]).row.broken_seq == 4
    result = keep(2, *CHECKS[:1])
    assert (result.news, result.row.broken_seq) == ("record.damaged", 2)
    assert not keep(None, *CHECKS[:2]).row.intact, "the anchor said so as well"
    assert keep(None, *CHECKS).news == "record.restored"


def test_a_thread_that_is_gone_is_damage_of_its_workspace(audited: Audited) -> None:
    alter("DELETE FROM gp_thread WHERE id = %s::uuid", audited.thread)
    in_background(audited)
    [result] = queries.damages(workspace=audited.cast.workspace)
    assert (result.of, result.id) == ("thread", audited.thread)
    assert "1 record damaged" in audited.html("/")
    assert not queries.damages(workspace=audited.cast.elsewhere)


def test_the_log_of_a_workspace_is_a_record(audited: Audited) -> None:
    workspace = audited.cast.workspace
    alter(
        "UPDATE gp_workspace_event SET actor = 'user:99' WHERE workspace_id = %s::uuid AND seq = 2",
        workspace,
    )
    in_background(audited)
    [result] = queries.damages(workspace=workspace)
    assert (result.of, result.id, result.broken_seq) == ("workspace", workspace, 2)
    assert "The log of the workspace" in audited.html("/")
    text = audited.html("/admin/checkpoints/workspaceevent/")
    n_events = queries.workspace_events(workspace).rows[0].seq
    assert text.count('class="damaged"') == n_events - 1
    assert "1 record damaged" in audited.html("/admin/")


def test_everything_verified_is_said_with_when(audited: Audited) -> None:
    assert "events verified" not in audited.html("/")
    in_background(audited)
    integrity = queries.integrity(workspace=audited.cast.workspace)
    last = audited.json(f"/threads/{audited.thread}/")["last_seq"]
    log = queries.workspace_events(audited.cast.workspace).rows[0].seq
    assert integrity.n_verified == last + log
    for address in ("/", "/admin/"):
        assert f"{integrity.n_verified:,} events verified" in audited.html(address)
    # A second round passes over what was verified just now and comes to the same sum.
    with CaptureQueriesContext(connection) as request:
        in_background(audited)
    assert not [q for q in request.captured_queries if "FROM gp_event WHERE thread_id" in q["sql"]]
    assert queries.integrity(workspace=audited.cast.workspace).n_verified == integrity.n_verified


def test_auditors_and_admins_hear_of_it_once(cast: Cast, box: Mailbox, audited: Audited) -> None:
    for name in ("auditor", "admin", "manager"):
        cast.users[name].email = f"{name}@example.com"
        cast.users[name].save()
    endpoint(cast, "email")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_outbox SET done_at = clock_timestamp()")
    alter("DELETE FROM gp_event WHERE thread_id = %s::uuid AND seq = 3", audited.thread)
    for _ in range(2):
        assert run("verify", str(audited.thread))[0] == 1
    assert Sender().drain() == 2
    assert sorted(to for to, _ in box.mails) == ["admin@example.com", "auditor@example.com"]
    assert box.mails[0][1]["Subject"] == "A record is damaged: Delays"
    assert f"/threads/{audited.thread}/" in box.text()
    assert "missing in the log" in box.text()


def has_text(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.S) is not None


def verified(audited: Audited) -> VerificationRow:
    result = queries.verification(audited.thread)
    assert result is not None
    return result


def broken_seq(audited: Audited) -> int:
    """From which event on nothing can be trusted; beyond all of them where nothing was found."""
    result = queries.verification(audited.thread)
    return 2**31 if result is None or result.broken_seq is None else result.broken_seq


def untrusted_events(audited: Audited) -> bool:
    seq = broken_seq(audited)
    events = audited.json(f"/threads/{audited.thread}/events/")["results"]
    marked = [event["seq"] for event in events if event["untrusted"]]
    return bool(marked) and marked == [e["seq"] for e in events if e["seq"] >= seq]


def is_damaged(thread: dict[str, Any]) -> bool:
    return thread["integrity"] is not None and not thread["integrity"]["intact"]


def thread_page(audited: Audited) -> bool:
    text = audited.html(f"/threads/{audited.thread}/")
    return has_text(
        r'class="note t-fail" id="damage" role="alert">\s*'
        r'<svg class="i"[^>]*><use href="[^"]*#i-fail"',
        text,
    )


def untrusted_rows(audited: Audited) -> bool:
    seq = broken_seq(audited)
    rows = re.findall(
        r'<tr id="event-(\d+)"(\s+class="untrusted")?', audited.html(f"/threads/{audited.thread}/")
    )
    return all(bool(mark) == (int(n) >= seq) for n, mark in rows) and any(m for _, m in rows)


def listed(model: str) -> Callable[[Audited], bool]:
    return lambda audited: (
        'class="damaged"' in audited.html(f"/admin/{model}/?thread_id={audited.thread}")
    )


def metric(audited: Audited) -> bool:
    # Past what the registry keeps for a second.
    results = {m.name: m.samples[0].value for m in metrics._installation() if m.samples}
    assert results["gatepost_verification_age_seconds"] >= 0
    return results["gatepost_records_damaged"] == 1


PLACES: dict[str, Callable[[Audited], bool]] = {
    "thread page": thread_page,
    "events on it": untrusted_rows,
    "events in the API": untrusted_events,
    "thread in the API": lambda p: is_damaged(p.json(f"/threads/{p.thread}/")),
    "threads in the API": lambda p: is_damaged(p.json("/threads/")["results"][0]),
    "filter of the API": lambda p: len(p.json("/threads/?damaged=true")["results"]) == 1,
    "counts of the API": lambda p: p.json("/threads/counts/")["damaged"] == 1,
    "request in the API": lambda p: p.json(f"/approvals/{p.row.id}/")["damaged"],
    "board, on top": lambda p: has_text(r"<b>1 record damaged</b>, found", p.html("/")),
    "board, its row": lambda p: "record damaged" in p.html("/?status=queued"),
    "board, filter": lambda p: f'id="thread-{p.thread}"' in p.html("/?damaged=1"),
    "decision": lambda p: 'id="damage"' in p.html(f"/approvals/{p.row.id}/"),
    "done box": lambda p: "record damaged" in p.html("/approvals/?box=done"),
    "records": lambda p: has_text(r"1 record damaged", p.html("/admin/")),
    "row of the thread": lambda p: has_text(
        'id="damage"', p.html(f"/admin/checkpoints/thread/{p.thread}/change/")
    ),
    "threads list": lambda p: 'class="damaged"' in p.html("/admin/checkpoints/thread/"),
    "events list": listed("checkpoints/event"),
    "checkpoints list": listed("checkpoints/checkpoint"),
    "approvals list": listed("approvals/approval"),
    "decisions list": lambda p: 'class="damaged"' in p.html("/admin/approvals/decision/"),
    "metrics": metric,
    "doctor": lambda p: any(record.level == "wrong" for record in lag.records(Seen())),
    LOGGED: lambda p: "record.damaged" in last_kinds(p.cast.workspace),
}


def last_kinds(workspace: UUID) -> list[str]:
    return [row.kind for row in queries.workspace_events(workspace).rows]
