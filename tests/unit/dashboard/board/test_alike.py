"""Threads of a lane that failed alike stand under one line, which unfolds them."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.incidents import groups
from checkpoints import store
from checkpoints.states import EventKind
from dashboard.board import alike
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db
LINE = re.compile(r'<tr class="alike alike-(\d)".*?<b class="num[^>]*>([^<]*)</b>.*?</tr>', re.S)


def fails(cast: Cast, agent: UUID, reason: str) -> UUID:
    work = scene.lease(scene.start(cast.workspace, agent))
    store.leave(work, EventKind.THREAD_FAILED, reason=reason)
    return work.thread


def board(cast: Cast, path: str = "/", who: str = "operator") -> tuple[str, int]:
    """The page and how many statements it took."""
    with CaptureQueriesContext(connection) as captured:
        html = cast.client(who).get(path).content.decode()
    return html, len(captured)


def lines(html: str) -> list[tuple[str, str]]:
    return LINE.findall(html)


def test_equal_troubles_are_one_line_over_their_rows(cast: Cast) -> None:
    agent = scene.make_agent()
    _, before = board(cast)
    same = [fails(cast, agent, f"pay: invoice {n} has no `payee`") for n in range(alike.LEAST)]
    other = fails(cast, agent, "the bank is away")
    html, without = board(cast)
    assert lines(html) == [("1", f"{alike.LEAST} threads:")]
    (line,) = re.findall(r'<tr class="alike .*?</tr>', html, re.S)
    assert '<code class="w">payee</code>' in line
    assert "<details" in line
    assert "open" not in line.partition("<details")[2].partition(">")[0]
    assert "/incidents/" not in line, "nothing has made an incident of them yet"
    for thread in same:
        assert re.search(rf'<tr id="thread-{thread}"[^>]* class="in-1"', html)
    assert re.search(rf'<tr id="thread-{other}" data-row data-status="failed">', html)
    assert html.index(f"thread-{same[0]}") < html.index(f"thread-{other}")

    assert groups.join_incidents()
    html, statements = board(cast)
    (line,) = re.findall(r'<tr class="alike .*?</tr>', html, re.S)
    assert re.search(r'href="/incidents/[0-9a-f-]{36}/"', line)
    for n in range(6):
        fails(cast, agent, f"pay: invoice 9{n} has no `payee`")
        fails(cast, agent, f"step {n} timed out")
    html, many = board(cast)
    assert [n for n, _ in lines(html)] == ["1", "2"]
    assert many == statements == without, "one query for all groups, none for a row"
    assert without <= before + 3, "the rows of lanes, of the feed and of groups"


def test_a_few_and_what_waits_are_not_grouped(cast: Cast) -> None:
    agent = scene.make_agent()
    for n in range(alike.LEAST - 1):
        fails(cast, agent, f"no invoice {n}")
    for _ in range(alike.LEAST):
        scene.waiting(cast.workspace, agent)
    html, _ = board(cast)
    assert not lines(html)
    assert html.count("<tr id=") == 2 * alike.LEAST - 1


def test_a_lane_longer_than_the_page_has_the_number_of_the_incident(cast: Cast) -> None:
    agent, total = scene.make_agent(), 60
    for n in range(total):
        fails(cast, agent, f"no invoice {n}")
    html, _ = board(cast)
    ((_, words),) = lines(html)
    assert words.endswith("+ threads:"), "more than were read"
    groups.join_incidents()
    for path in ("/", "/?status=failed"):
        html, _ = board(cast, path)
        assert lines(html) == [("1", f"{total} threads:")], path
    html, _ = board(cast, "/?q=delays")
    assert all(words.endswith("+ threads:") for _, words in lines(html))
    assert len(html.encode()) < 60_000
