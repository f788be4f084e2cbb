"""A thread whose checkpoints somebody deleted opens, in red, and shows what is left of it."""

from __future__ import annotations

import pytest

from checkpoints import queries
from checkpoints.states import Status
from tests.dashboard.commands.test_verify import alter
from tests.dashboard.pages.test_damage import Place
from tests.dashboard.pages.test_damage import place as place

pytestmark = [pytest.mark.django_db, pytest.mark.altered, pytest.mark.requirement("A06")]
GONE = "DELETE FROM gp_checkpoint WHERE thread_id = %s::uuid"
HEAD = GONE + " AND number = 2"
FIRST = GONE + " AND number = 0"


@pytest.mark.parametrize("tab", ["", "?tab=state"])
def test_the_page_opens_in_red_before_anybody_verified(place: Place, tab: str) -> None:
    alter(GONE, place.thread)
    text = place.html(f"/threads/{place.thread}/{tab}")
    assert 'id="missing" role="alert"' in text
    assert "Checkpoint #2, where this thread stands, is missing: none is left." in text
    assert "can still be read" in text
    assert "This state cannot be shown." in text
    assert 'id="event-1"' in text, "events are what can still be read"
    assert "#i-shield" not in text


def test_what_is_left_is_shown_where_only_the_head_is_gone(place: Place) -> None:
    alter(HEAD, place.thread)
    text = place.html(f"/threads/{place.thread}/")
    assert "is missing: #1 is the newest that is left." in text
    assert "draft" in text


def test_an_intact_thread_misses_nothing(place: Place) -> None:
    assert 'id="missing"' not in place.html(f"/threads/{place.thread}/")


def test_what_builds_on_the_head_is_refused_in_words(place: Place) -> None:
    alter(GONE, place.thread)
    answer = place.cast.client("manager").get(f"/threads/{place.thread}/fork/")
    assert answer.status_code == 409
    assert "is missing from the record" in answer.content.decode()


@pytest.mark.parametrize("sql", [GONE, FIRST], ids=["all", "the first"])
def test_it_can_still_be_cancelled(place: Place, sql: str) -> None:
    alter(sql, place.thread)
    client = place.cast.client("operator")
    form = client.get(f"/threads/{place.thread}/cancel/")
    assert form.status_code == 200
    assert "Cancel this thread?" in form.content.decode()
    version = queries.thread(place.thread, workspace=place.cast.workspace).version
    done = client.post(
        f"/threads/{place.thread}/cancel/", {"version": version, "undo": "1"}, follow=True
    )
    assert done.status_code == 200
    now = queries.thread(place.thread, workspace=place.cast.workspace)
    assert now.status is Status.CANCELLED
