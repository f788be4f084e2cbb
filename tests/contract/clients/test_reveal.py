"""`reveal` of the Python client: the value for who may, and an entry for each reading."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from checkpoints import queries
from dashboard.identity import tokens
from gatepost_client import Refused, Settings, aio, reveal
from tests.unit.workers.conftest import Bench
from tests.unit.workers.encrypted.agent import NEWER, WORD, graph_of
from workers.code.registry import announce

from .bench import Server

pytestmark = pytest.mark.slow  # starts a server


def in_a_loop(*args: Any, **kwargs: Any) -> Any:
    return asyncio.run(aio.reveal(*args, **kwargs))


def settings_of(server: Server, who: str, *scopes: str) -> Settings:
    user = get_user_model().objects.get(username=who)
    token = tokens.make(user, made_by="user:0", scopes=["read", *scopes])[1]
    return Settings(server.url, token)


@pytest.mark.parametrize("read", [reveal, in_a_loop], ids=["sync", "async"])
def test_a_value_is_read_by_who_may_and_each_reading_is_recorded(
    server: Server, read: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = queries.default_workspace()
    bench = Bench(announce(graph_of(), {}, []), workspace)
    made = bench.start(patient="Ada", diagnosis=WORD)
    bench.pause(made)
    bench.edit(made, {"diagnosis": NEWER}, "wrong file")
    thread, first = str(made), str(bench.checkpoint(made, 0).id)
    auditor = settings_of(server, "auditor", "reveal")
    assert read(thread, "diagnosis", settings=auditor) == NEWER
    monkeypatch.setenv("GATEPOST_URL", auditor.url)
    monkeypatch.setenv("GATEPOST_TOKEN", auditor.token)
    assert read(thread, "diagnosis", checkpoint=first) == WORD
    log = queries.workspace_events(workspace, limit=50).rows
    entries = [e.data for e in log if e.data.get("thread") == thread]
    assert [(e["channel"], e["number"]) for e in entries] == [("diagnosis", 0), ("diagnosis", 1)]

    operator = settings_of(server, "operator", "reveal")
    for settings, channel, status in (
        (auditor, "patient", 404),
        (operator, "diagnosis", 403),
        (settings_of(server, "auditor"), "diagnosis", 403),
    ):
        with pytest.raises(Refused) as refusal:
            read(thread, channel, settings=settings)
        assert refusal.value.status == status
