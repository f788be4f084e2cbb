"""A model that the settings name, asked by a real worker, seen through the API and on the page."""

from __future__ import annotations

import os
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from checkpoints import queries
from dashboard.threads.start import start_thread
from tests.faults.embedded.helpers import wait_until
from tests.support.cast import make_cast
from tests.support.site import started_site

pytestmark = pytest.mark.nightly


def test_the_worker_asks_the_model_that_the_settings_name(real_db: str, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]
    agent = "tests.unit.workers.graphs.bare"
    assert "GATEPOST_MODEL" not in os.environ
    with started_site(GATEPOST_AGENTS=agent, GATEPOST_MODEL=f"{agent}:answer"):
        cast = make_cast()
        actor = cast.actor("operator")
        thread = start_thread(actor, agent="bare", input={}, config={"model": "small"})
        results: dict[str, Any] = {}

        def ended() -> bool:
            results.update(status=queries.thread(thread, workspace=actor.workspace).status)
            return results["status"] in ("succeeded", "failed")

        wait_until(ended, seconds=60, what="the thread")
        client: Client = cast.client("operator")
        payload = client.get(f"/api/v1/threads/{thread}/").json()
        assert (payload["status"], payload["status_reason"]) == ("succeeded", "")
        assert payload["totals"]["tokens"] == 42
        assert payload["totals"]["cost"] == "0.000125"
        state = client.get(f"/api/v1/threads/{thread}/state/").json()
        assert state["state"]["said"] == "small on Say something"
        (call,) = client.get(f"/api/v1/threads/{thread}/activities/").json()["results"]
        assert (call["kind"], call["state"], call["usage"]["model"]) == ("model", "done", "set-1")
        page = client.get(f"/threads/{thread}/").content.decode()
        assert "set-1, 42 tokens, $0.000125" in page
        assert UUID(call["id"])
        # A fork's preview counts on what the base has spent: asked the same, it is not spent again,
        # with another model it is.
        first = client.get(f"/api/v1/threads/{thread}/checkpoints/").json()["results"][-1]
        plans = [
            client.post(
                f"/api/v1/threads/{thread}/fork/?preview=1",
                {"checkpoint": first["id"], "changes": {}, "config": config},
                content_type="application/json",
            ).json()
            for config in ({}, {"model": "large"})
        ]
        assert [(p["reused"], p["again"]) for p in plans] == [(1, 0), (0, 1)]
        assert [(p["tokens_reused"], p["cost_reused"]) for p in plans] == [
            (42, "0.000125"),
            (0, "0"),
        ]
        assert [(p["tokens"], p["cost"]) for p in plans] == [(0, "0"), (42, "0.000125")]
