"""What a thread takes in the database stands on its page and in the API."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from checkpoints import queries, store
from dashboard.wording.text import size
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import drive, make_thread, new_activity

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("A25")]


def test_the_page_and_the_api_show_what_a_thread_takes(cast: Cast) -> None:
    thread = make_thread(workspace=cast.workspace)
    client = cast.client("viewer")
    former = 0
    for steps in (3, 30):
        driver = drive(thread)
        for n in range(steps):
            store.record_activity(driver.work, new_activity(driver.work, f"look#{n}"), result="r")
            driver.step({"append": {"log": ["x" * 200]}})
        store.hand_back(driver.work, reason="")
        row = queries.thread(thread, workspace=cast.workspace)
        payload = client.get(f"/api/v1/threads/{thread}/").json()["storage"]
        result = queries.storage(thread)
        assert payload == {
            "events": row.last_seq,
            "checkpoints": row.number + 1,
            "activities": row.number,
            "contents": 0,
            "bytes": result.bytes,
        }
        assert payload["bytes"] > former + steps * 200
        former = payload["bytes"]
        page = client.get(reverse("thread", args=[thread])).content.decode()
        shown = re.search(r'(?s)<dd id="storage">(.*?)</dd>', page)
        assert shown is not None
        assert size(payload["bytes"]) in shown[1]
        assert f"{row.last_seq} events, {row.number + 1} checkpoints" in shown[1]
