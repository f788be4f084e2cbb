"""A thread whose checkpoints somebody deleted opens, in red, and shows what is left of it."""

from __future__ import annotations

import pytest

from checkpoints import queries
from checkpoints.states import Status
from tests.unit.dashboard.records.integrity.test_damage import Audited
from tests.unit.dashboard.records.integrity.test_damage import audited as audited
from tests.unit.dashboard.records.test_verify import alter

pytestmark = [pytest.mark.django_db, pytest.mark.altered, pytest.mark.requirement("A06")]
GONE = "DELETE FROM gp_checkpoint WHERE thread_id = %s::uuid"
HEAD = GONE + " AND number = 2"
FIRST = GONE + " AND number = 0"


@pytest.mark.parametrize("tab", ["", "?tab=state"])
def test_the_page_opens_in_red_before_anybody_verified(audited: Audited, tab: str) -> None:
    alter(GONE, audited.thread)
    text = audited.html(f"/threads/{audited.thread}/{tab}")
    assert 'id="missing" role="alert"' in text
    assert "Checkpoint #2, the head of this thread, is missing: none is left." in text
    assert "can still be read" in text
    assert "This state cannot be shown." in text
    assert 'id="event-1"' in text, "events are what can still be read"
    assert "#i-shield" not in text


def test_what_is_left_is_shown_where_only_the_head_is_gone(audited: Audited) -> None:
    alter(HEAD, audited.thread)
    text = audited.html(f"/threads/{audited.thread}/")
    assert "is missing: #1 is the newest that is left." in text
    assert "draft" in text


def test_an_intact_thread_misses_nothing(audited: Audited) -> None:
    assert 'id="missing"' not in audited.html(f"/threads/{audited.thread}/")


def test_what_builds_on_the_head_is_refused_in_words(audited: Audited) -> None:
    alter(GONE, audited.thread)
    answer = audited.cast.client("manager").get(f"/threads/{audited.thread}/fork/")
    assert answer.status_code == 409
    assert "is missing from the record" in answer.content.decode()


@pytest.mark.parametrize("sql", [GONE, FIRST], ids=["all", "the first"])
def test_it_can_still_be_cancelled(audited: Audited, sql: str) -> None:
    alter(sql, audited.thread)
    client = audited.cast.client("operator")
    form = client.get(f"/threads/{audited.thread}/cancel/")
    assert form.status_code == 200
    assert "Cancel this thread?" in form.content.decode()
    version = queries.thread(audited.thread, workspace=audited.cast.workspace).version
    done = client.post(
        f"/threads/{audited.thread}/cancel/", {"version": version, "undo": "1"}, follow=True
    )
    assert done.status_code == 200
    now = queries.thread(audited.thread, workspace=audited.cast.workspace)
    assert now.status is Status.CANCELLED
