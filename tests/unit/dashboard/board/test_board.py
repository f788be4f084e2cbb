"""The board: each status counted as listed, each lane with its longest first, filters agree."""

from __future__ import annotations

import random
import re
from collections import Counter
from datetime import timedelta
from html import unescape
from itertools import product
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest

from checkpoints.states import Status
from dashboard.board.board import LIST_ROWS, NEWEST_FIRST
from dashboard.board.lanes import FAIR
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

TITLES = ("Pay the invoices", "Delays in winter", "Tea 100%", "under_score")


def _unguarded(sql: str, params: tuple[Any, ...]) -> None:
    """Past the table of transitions: here a status is only counted."""
    rows("SET LOCAL session_replication_role = replica")
    rows(sql, params)
    rows("SET LOCAL session_replication_role = origin")


@pytest.fixture
def threads(cast: Cast) -> list[tuple[UUID, str, str, str]]:
    """(id, agent, title, status) of 260 threads of two agents, all statuses and mixed ages."""
    dice = random.Random(16)
    agents = {name: scene.make_agent(name) for name in ("research", "payments")}
    made = []
    for n in range(260):
        agent, title = dice.choice(list(agents)), dice.choice(TITLES)
        thread = scene.start(cast.workspace, agents[agent])
        # 120 wait, so that one lane has more than a page of its list.
        status = Status.WAITING if n < 120 else dice.choice(list(Status))
        _unguarded(
            "UPDATE gp_thread SET status = %s, title = %s, status_since = status_since - %s "
            "WHERE id = %s",
            (str(status), f"{title} {n}", timedelta(minutes=dice.randrange(90_000)), thread),
        )
        made.append((thread, agent, f"{title} {n}", str(status)))
    return made


def _counters(html: str) -> dict[str, int]:
    matches = re.findall(r'data-count="(\w+)">([\d,]+)', html)
    return {status: int(n.replace(",", "")) for status, n in matches}


def _lanes(html: str) -> dict[str, tuple[int, list[str]]]:
    """{status: (how many it says, ids of its rows)}."""
    lanes = {}
    for status, body in re.findall(r'<tbody id="lane-(\w+)".*?>(.*?)</tbody>', html, re.S):
        total = re.search(r'class="num strong sm">([\d,]+)<', body)
        assert total
        lanes[status] = (
            int(total[1].replace(",", "")),
            re.findall(r'<tr id="thread-([0-9a-f-]{36})"', body),
        )
    return lanes


FILTERS = [
    dict(zip(("agent", "q", "status"), chosen, strict=True))
    for chosen in product(
        ("", "payments"), ("", "tea", "100%", "under_"), ("", "failed", "failed,waiting")
    )
]


def _since(ids: list[str]) -> list[Any]:
    results = dict(
        rows("SELECT id::text, status_since FROM gp_thread WHERE id = ANY(%s::uuid[])", (ids,))
    )
    return [results[one] for one in ids]


@pytest.mark.nightly
def test_counters_lanes_and_filters_agree(
    cast: Cast, threads: list[tuple[UUID, str, str, str]]
) -> None:
    client = cast.client("operator")
    for chosen in FILTERS:
        html = client.get("/", chosen).content.decode()
        matching = [
            (str(thread), status)
            for thread, agent, title, status in threads
            if agent == (chosen["agent"] or agent) and chosen["q"].lower() in title.lower()
        ]
        wanted = Counter(status for _, status in matching)
        assert _counters(html) == {str(s): wanted[s] for s in Status}, chosen
        statuses = set(chosen["status"].split(",")) if chosen["status"] else set(Status)
        lanes = _lanes(html)
        assert {status: n for status, (n, _) in lanes.items()} == {
            status: wanted[status] for status in wanted if status in statuses
        }, chosen
        if chosen["status"]:  # a list, which goes on behind its last row
            listed = sum(len(ids) for _, ids in lanes.values())
            assert listed == min(sum(n for n, _ in lanes.values()), LIST_ROWS), chosen
        for status, (n, ids) in lanes.items():
            of_lane = {thread for thread, its in matching if its == status}
            assert set(ids) <= of_lane
            assert len(ids) >= (1 if chosen["status"] else min(n, 3))
            times = _since(ids)
            newest = status in NEWEST_FIRST
            assert times == sorted(times, reverse=newest)
            if not chosen["status"]:
                ends = _since(sorted(of_lane))
                # The row that would be missed: of an open lane the one that waits longest.
                assert times[0] == (max(ends) if newest else min(ends))
                assert len(ids) >= min(n, 3 if len(lanes) > 3 else FAIR)


@pytest.mark.slow
def test_a_list_of_one_status_goes_on_to_the_last_row(
    cast: Cast, threads: list[tuple[UUID, str, str, str]]
) -> None:
    client = cast.client("operator")
    for status in ("waiting", "succeeded", "failed,waiting"):
        wanted = {str(t) for t, _, _, its in threads if its in status.split(",")}
        seen: list[str] = []
        address = f"/?status={status}"
        while address:
            html = client.get(address).content.decode()
            ids = [one for _, result in _lanes(html).values() for one in result]
            assert 0 < len(ids) <= LIST_ROWS
            seen += ids
            more = re.search(r'class="more" href="([^"]+)"', html)
            address = "/" + unescape(more[1]) if more else ""
        assert len(seen) == len(set(seen)) == len(wanted)
        assert set(seen) == wanted


def test_a_counter_keeps_the_other_filters_and_a_chip_drops_one(cast: Cast) -> None:
    scene.start(cast.workspace, scene.make_agent("payments"))
    client = cast.client("operator")
    html = client.get("/?agent=payments&q=del&status=failed,waiting").content.decode()
    links = dict(re.findall(r'id="count-(\w+)">\s*<a\s+class="[\w-]+"\s+href="([^"]+)"', html))
    assert set(links) == set(map(str, Status))
    query = {s: parse_qs(urlsplit(unescape(link)).query) for s, link in links.items()}
    assert all(one["agent"] == ["payments"] and one["q"] == ["del"] for one in query.values())
    assert query["paused"]["status"] == ["paused"]
    assert query["failed"]["status"] == ["waiting"]
    chips = re.findall(r'<a class="chip"[^>]*href="([^"]+)">\s*(\w+)', html)
    assert [word for _, word in chips] == ["Failed", "Waiting", "payments"]
    assert "Unknown" not in html
    dropped = parse_qs(urlsplit(unescape(chips[2][0])).query)
    assert dropped == {"status": ["failed,waiting"], "q": ["del"]}


def test_an_unknown_status_is_refused_in_words(cast: Cast) -> None:
    answer = cast.client("operator").get("/?status=bogus")
    html = answer.content.decode()
    assert answer.status_code == 422
    assert "“status” does not take “bogus”. It takes queued, running" in html
    assert "$." not in html


def test_the_operator_sees_what_only_operators_mend_first(cast: Cast) -> None:
    agent = scene.make_agent()
    for status in ("waiting", "failed", "attention"):
        thread = scene.start(cast.workspace, agent)
        _unguarded("UPDATE gp_thread SET status = %s WHERE id = %s", (status, thread))
    orders = {
        role: list(_lanes(cast.client(role).get("/").content.decode()))
        for role in ("operator", "manager")
    }
    assert orders["operator"] == ["attention", "failed", "waiting"]
    assert orders["manager"] == ["attention", "waiting", "failed"]
