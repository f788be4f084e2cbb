"""One control shows only what went wrong in a thread, each with its place and what is next."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.utils.html import strip_tags
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.records import NewActivity, Position, Work
from checkpoints.states import EventKind
from dashboard.threads.page import errors
from dashboard.wording.events import event_tone
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.threads.page.moments.test_failure import failed

pytestmark = pytest.mark.django_db


def look(cast: Cast, work: Work, query: str = "?kind=errors") -> str:
    answer = cast.client("operator").get(f"/threads/{work.thread}/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def listed(html: str) -> list[tuple[str, str]]:
    """(kind, place and what is next) of each event on the page, oldest first."""
    rows = re.findall(r'<tr id="event-\d+".*?</tr>', html, re.S)
    results = []
    for row in rows[::-1]:
        kind = re.search(r'<span class="hide-m">([a-z.]+)</span>', row)
        words = re.search(r"<p[^>]*data-trouble>(.*?)</p>", row, re.S)
        assert kind
        assert words, row
        results.append((kind[1], " ".join(strip_tags(words[1]).split())))
    return results


@pytest.mark.rubric(16)
def test_errors_are_one_link_away_and_say_where_and_what_next(cast: Cast) -> None:
    work = failed(cast, times=3)
    html = look(cast, work, "")
    chip = re.search(
        r'<a class="chip t-fail"[^>]*href="(\?kind=errors)"[^>]*>(.*?)</a>', html, re.S
    )
    assert chip
    shown = look(cast, work, chip[1])
    rows = listed(shown)
    assert int(re.findall(r"\d+", strip_tags(chip[2]))[-1]) == len(rows)
    assert {kind for kind, _ in rows} == {"step.failed", "thread.failed"}
    assert any(words.startswith("publish, step 2") for _, words in rows)
    assert rows[-1][1].endswith("Retry, edit the state, or roll back.")
    # Of the attempts before the last one it says at which event the next one ended.
    assert len([words for _, words in rows if "Retried, event" in words]) == len(rows) - 2
    # Everything that is no error is gone from the list, and back by the other chips.
    assert "checkpoint.committed" not in shown.partition("<tbody>")[2]
    assert 'aria-current="true"' in re.search(r"<a class=\"chip[^>]*kind=errors[^>]*>", shown)[0]  # type: ignore[index]
    assert "checkpoint.committed" in look(cast, work, "?kind=")


def test_what_followed_an_error_is_the_checkpoint_after_it(cast: Cast) -> None:
    work = failed(cast)
    store.retry(work.thread, actor="user:1")
    again = scene.lease(work.thread)
    scene.step(again, report="it worked", leave_by=EventKind.THREAD_SUCCEEDED)
    rows = listed(look(cast, work))
    assert rows
    assert all("It continued: checkpoint #2." in words for _, words in rows)
    assert 'href="?cp=2"' in look(cast, work)


def test_a_thread_without_errors_says_so(cast: Cast) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    html = look(cast, work)
    assert "No errors." in " ".join(html.split())
    assert "<tr" not in html.partition('id="thread-activities"')[2].partition("</section>")[0]


def test_save_points_are_those_that_failed_or_were_tried_again(cast: Cast) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.effect(work, key="publish:0")
    bad = NewActivity(
        id=uuid7(),
        position=Position(work.branch, work.step + 1, "publish", 0, "publish:1"),
        kind="effect",
        tool="publish",
        args={"report": "r"},
        idempotency_key=uuid4().hex,
        undo="unpublish",
    )
    store.start_activity(work, bad)
    store.finish_activity(work, bad, state="failed", error="no such folder")
    html = look(cast, work)
    assert re.findall(r'<tr id="activity-([0-9a-f-]+)"', html) == [str(bad.id)]
    assert "no such folder" in html
    assert [kind for kind, _ in listed(html)] == ["effect.failed"]


def test_whatever_is_drawn_as_gone_wrong_is_an_error() -> None:
    red = {str(kind) for kind in EventKind if event_tone(kind) == "t-fail"}
    assert red <= set(errors.KINDS)
    assert set(errors.KINDS) - red == {"thread.parked"}
