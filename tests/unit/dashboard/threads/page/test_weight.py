"""Pages of threads that the shipped agents really lived stay small, on each tab and in the past."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries
from tests.support.cast import Cast
from tests.unit.agents.testbank.bank import started_bank
from tests.unit.checkpoints.builders import drive, make_agent, make_thread
from tests.unit.dashboard.html.comparison.runs import play, script_of
from tests.unit.dashboard.threads.page.shipped import benches, finished

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
BYTES_MAX, NODES_MAX, ROWS_MAX = 80_000, 1_500, 200
QUESTION = "How does Celery retry a task?"
OFFER = {
    "looking_for": "bakeries in Hamburg that deliver",
    "offer": "Paper bags with your print",
    "sender": "Ada Lovelace",
    "reply_to": "ada@bags.example",
}


def research(cast: Cast) -> UUID:
    bench = benches(cast.workspace, "gatepost_agents.market_research")["market-research"]
    return finished(bench, question="Which airport is the windiest?", dataset="weather")


def paying(cast: Cast) -> UUID:
    bench = benches(cast.workspace, "gatepost_agents.payments")["payments"]
    return finished(bench, due_by="2026-11-30")


def reading(cast: Cast) -> UUID:
    bench = benches(cast.workspace, "gatepost_agents.deep_research")["deep-research"]
    return finished(bench, question=QUESTION, at_most=12)


def writing(cast: Cast) -> UUID:
    bench = benches(cast.workspace, "gatepost_agents.outreach")["outreach"]
    thread = bench.start(**OFFER)
    bench.advance(thread)
    return thread


def long(cast: Cast) -> UUID:
    """A thread of 260 steps with calls, thoughts and failures."""
    driver = drive(make_thread(workspace=cast.workspace, agent=make_agent()))
    random = Random(1)
    for step in script_of(1, 260).steps:
        play(driver, step, random)
    return driver.work.thread


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, settings: Any) -> Iterator[None]:
    """A bank, an outbox and a published folder of this test."""
    settings.GATEPOST_OUTBOX = tmp_path / "outbox"
    settings.GATEPOST_PUBLISHED = tmp_path / "published"
    with started_bank(tmp_path) as bank:
        settings.GATEPOST_BANK_URL = bank.url
        yield


def weigh(html: str, nodes_max: int = NODES_MAX) -> str:
    """Nothing, or which limit a page is beyond."""
    size, nodes = len(html.encode()), len(re.findall(r"<[a-z]", html))
    rows = len(re.findall(r'id="(?:checkpoint|event|activity)-', html))
    if size < BYTES_MAX and nodes < nodes_max and rows <= ROWS_MAX:
        return ""
    return f"{size:,} bytes, {nodes:,} nodes, {rows} rows"


@pytest.mark.rubric(11)
@pytest.mark.parametrize("live", [research, paying, reading, writing, long])
def test_each_page_of_a_thread_is_small(cast: Cast, live: Callable[[Cast], UUID]) -> None:
    thread = live(cast)
    last = queries.thread(thread, workspace=cast.workspace).number
    client = cast.client("manager")
    wrong = {}
    for number in [None, *range(last)] if last < 20 else [None, 0, 30, last - 10]:
        for tab in ("", "state", "anatomy"):
            query = {"cp": str(number)} if number is not None else {}
            answer = client.get(f"/threads/{thread}/", query | ({"tab": tab} if tab else {}))
            assert answer.status_code == 200
            if much := weigh(answer.content.decode()):
                wrong[number, tab] = much
    assert not wrong


def test_changes_show_changes_only(cast: Cast) -> None:
    thread = paying(cast)
    client = cast.client("manager")
    last = queries.thread(thread, workspace=cast.workspace).number
    for number in range(1, last + 1):
        after, before = (
            queries.state_at(thread, queries.checkpoint_by_number(thread, n).id)
            for n in (number, number - 1)
        )
        changed = {n for n in after.keys() | before.keys() if after.get(n) != before.get(n)}
        html = client.get(f"/threads/{thread}/", {"cp": str(number)}).content.decode()
        tree = html.partition('id="thread-state"')[2].partition('class="tree"')[2]
        tree = tree.partition("</section>")[0]
        drawn, _, alike = tree.partition('id="state-alike">')
        shown = set(re.findall(r'class="ln(?: \w+)?"><a[^>]*><span class="k">([^<]*):', drawn))
        shown |= set(re.findall(r'class="ln(?: \w+)?"><span class="k">([^<]*):', drawn))
        assert shown == changed, number
        (n, names) = re.findall(r"(\d+) unchanged: ([^<]*)<", alike)[0]
        assert set(names.split(", ")) == after.keys() - changed
        assert int(n) == len(after.keys() - changed)


@pytest.mark.rubric(20)
def test_each_comparison_is_small(cast: Cast) -> None:
    thread = paying(cast)
    bench = benches(cast.workspace, "gatepost_agents.payments")["payments"]
    other = bench.start(due_by="2026-11-20")
    bench.advance(other)
    researched = research(cast)
    client = cast.client("manager")
    for left, right in (
        (thread, other),
        (f"{thread}:0", thread),
        (f"{researched}:0", researched),
        (researched, thread),
    ):
        for view in ("changes", "sides"):
            query = {"left": str(left), "right": str(right), "view": view}
            answer = client.get("/threads/compare/", query)
            assert answer.status_code == 200
            assert not weigh(answer.content.decode(), nodes_max=2_000)
