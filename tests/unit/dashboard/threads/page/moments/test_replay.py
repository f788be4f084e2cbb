"""At ?cp= everything on the page is as of that checkpoint, and links lead to the one beside it."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from uuid import UUID

import pytest
from django.utils.html import strip_tags

from checkpoints import queries
from dashboard.threads.page import thread as pages
from dashboard.threads.page.past import SAVE_POINTS
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import drive, make_agent, make_thread, one, rows
from tests.unit.dashboard.html.comparison.runs import play, script_of
from tests.unit.workers.conftest import Bench

pytestmark = pytest.mark.django_db


def look(cast: Cast, thread: UUID, query: str = "") -> str:
    answer = cast.client("viewer").get(f"/threads/{thread}/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def link(html: str, name: str) -> str | None:
    """Where a link of the replay leads; None where there is none."""
    match = re.search(rf'<a[^>]*data-replay="{name}"[^>]*>', html)
    if match is None:
        return None
    href = re.search(r'href="([^"]*)"', match[0])
    assert href
    return href[1]


def events(html: str) -> list[int]:
    return [int(seq) for seq in re.findall(r'<tr id="event-(\d+)"', html)]


def region(html: str, name: str) -> str:
    part = html.partition(f'<section id="{name}"')[2].partition("</section>")[0]
    return " ".join(strip_tags("<" + part).split())


@pytest.mark.requirement("A23")
def test_links_walk_through_every_checkpoint_and_everything_moves_with_them(
    cast: Cast, lived: tuple[Bench, UUID]
) -> None:
    _, thread = lived
    client = cast.client("viewer")
    rows("UPDATE gp_thread SET workspace_id = %s WHERE id = %s", (cast.workspace, thread))
    points = [row for row in queries.lineage(thread) if not row.abandoned][::-1]
    assert len(points) > 3
    address = f"/threads/{thread}/?cp=0"
    seen = []
    while address:
        html = client.get(address).content.decode()
        shown = next(r for r in points if r.number not in [n for n, *_ in seen])
        at_head = shown.id == points[-1].id
        commit = queries.event_of_checkpoint(thread, shown.id)
        assert commit is not None
        # The events end with the commit of the checkpoint, the save points with its step.
        if not at_head:
            assert events(html)[0] == commit.seq
            assert f"You're viewing checkpoint #{shown.number} " in html
            assert html.count('class="of-step"') >= 1
        ids = set(re.findall(r'<tr id="activity-([0-9a-f-]+)"', html))
        if not at_head:
            later = rows(
                "SELECT id::text FROM gp_activity WHERE thread_id = %s AND (step > %s "
                "OR branch > %s)",
                (thread, shown.step, shown.branch),
            )
            assert not ids & {ident for (ident,) in later}
        assert f"#{shown.number}" in region(html, "thread-state")
        assert re.search(rf'id="checkpoint-{shown.id}"[^>]*>\s*<a[^>]*aria-current="true"', html)
        seen.append((shown.number, len(ids), region(html, "thread-plan")))
        back = link(html, "back")
        assert (back is None) == (shown.id == points[0].id)
        address = link(html, "next") or ""
    assert [number for number, *_ in seen] == [row.number for row in points]
    assert len({plan for *_, plan in seen}) > 1
    assert len({n for _, n, _ in seen}) > 1
    assert link(look(cast, thread), "first") == "?cp=0"


@pytest.mark.requirement("A23")
def test_a_checkpoint_far_back_is_shown_among_its_neighbours(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "CHECKPOINTS", 20)
    monkeypatch.setattr(pages, "ROWS", 10)
    monkeypatch.setattr(pages.ThreadPage, "shown_rows", 10)
    driver = drive(make_thread(workspace=cast.workspace))
    for _ in range(40):
        driver.step()
    thread = driver.work.thread
    html = look(cast, thread, "?cp=12")
    assert "You're viewing checkpoint #12 of 40." in html
    shown = [int(n) for n in re.findall(r'<span\s+class="q num">(\d+)</span>', html)]
    assert len(shown) == 10
    assert 12 in shown
    assert ">Older checkpoints</a>" in html
    assert ">Newer checkpoints</a>" in html
    ids = {n: one("SELECT id FROM gp_checkpoint WHERE thread_id = %s AND number = %s", (thread, n))
           for n in (11, 13)}  # fmt: skip
    assert link(html, "back") == f"/threads/{thread}/?cp={ids[11]}"
    assert link(html, "next") == f"/threads/{thread}/?cp={ids[13]}"
    assert "hatch" in html  # the bar is there, without an end that stands still
    assert 'class="standing"' not in html


@pytest.mark.slow
@pytest.mark.requirement("A23")
def test_older_save_points_are_a_page_back_also_in_the_past(cast: Cast) -> None:
    driver = drive(make_thread(workspace=cast.workspace, agent=make_agent()))
    random = Random(1)
    for step in script_of(1, 30).steps:
        play(driver, step, random)
    thread = driver.work.thread
    for past in ("", "cp=25&amp;"):
        known = rows("SELECT id::text FROM gp_activity WHERE thread_id = %s", (thread,))
        seen: list[str] = []
        query: str | None = "?" + past
        while query:
            html = look(cast, thread, query.replace("&amp;", "&"))
            part = html.partition('<section id="thread-activities"')[2].partition("</section>")[0]
            assert ("data-refetch" in part.partition(">")[0]) == (bool(past) or "points" in query)
            seen += re.findall(r'<tr id="activity-([0-9a-f-]+)"', part)
            link = re.search(r'href="(\?[^"#]*points_before=[^"#]*)#thread-activities"', part)
            query = link[1] if link else None
        assert len(seen) == len(set(seen)) > 50
        assert past or set(seen) == {i for (i,) in known}
    assert cast.client("viewer").get(f"/threads/{thread}/?points_before=no").status_code == 422


@pytest.mark.slow
def test_a_page_is_small_however_long_the_thread_is(cast: Cast) -> None:
    driver = drive(make_thread(workspace=cast.workspace, agent=make_agent()))
    random = Random(1)
    for step in script_of(1, 260).steps:
        play(driver, step, random)
    for query in ("", "?cp=0", "?cp=30", "?cp=250"):
        html = look(cast, driver.work.thread, query)
        shown = Counter(re.findall(r'id="(checkpoint|event|activity)-', html))
        assert shown["checkpoint"] == pages.ROWS
        events_and_points = (1, 0) if query == "?cp=0" else (pages.EVENTS, SAVE_POINTS)
        assert (shown["event"], shown["activity"]) == events_and_points, query
        assert len(html.encode()) < 80_000, len(html.encode())
        assert len(re.findall(r"<[a-z]", html)) < 1_500
