"""Of a long log an answer reads little, and sends nothing, or less where a model writes it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.db import connection

from checkpoints import store
from checkpoints.queries.history.passages import Passage
from dashboard.identity.permissions import actor_of
from dashboard.kit.action import read
from dashboard.questions import ask, extraction
from dashboard.questions.generation import PASSAGES_MAX
from tests.support.cast import make_cast
from tests.unit.checkpoints.builders import one
from tests.unit.dashboard import scene
from tests.unit.dashboard.questions.test_asking import tell
from tests.unit.dashboard.questions.test_generation import answering, generated, say
from workers.language.endpoints import WireEndpoint

EVENTS = 10_000


@pytest.mark.slow
@pytest.mark.usefixtures("real_db")
@pytest.mark.requirement("B41")
@pytest.mark.requirement("B42")
def test_under_two_percent_of_10_000_events_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    cast = make_cast()
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    for begin in range(0, EVENTS, 500):
        tell(work, *(f"Ship {n} was late by {n % 37} hours." for n in range(begin, begin + 500)))
    while store.index_history():
        pass
    read_events: list[Passage] = []
    original = extraction.extract

    def counted(question, passages, people):  # type: ignore[no-untyped-def]
        read_events.extend(passages)
        return original(question, passages, people)

    monkeypatch.setattr("dashboard.questions.ask.extract", counted)
    body = {"question": "How many hours was ship 7321 late?", "thread": str(work.thread)}
    wanted = read(ask.AskRecord, body)
    result = ask.ASK_RECORD.run(actor_of(cast.users["viewer"]), wanted)
    assert [s.text for s in result.sentences] == [f"Ship 7321 was late by {7321 % 37} hours."]
    assert result.complete
    assert 0 < len(read_events) == result.read < 0.02 * EVENTS
    size = sum(len(passage.words) for passage in read_events)
    assert size < 0.02 * one("SELECT sum(length(data::text)) FROM gp_event")
    assert one("SELECT count(*) FROM gp_event WHERE thread_id = %s", (work.thread,)) > EVENTS


@pytest.mark.slow
@pytest.mark.usefixtures("real_db")
@pytest.mark.requirement("B41")
def test_under_two_percent_of_10_000_events_is_sent_and_in_no_transaction(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast = make_cast()
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    for begin in range(0, EVENTS, 500):
        tell(work, *(f"Ship {n} was late by {n % 37} hours." for n in range(begin, begin + 500)))
    while store.index_history():
        pass
    blocks: list[bool] = []
    original = WireEndpoint._answer

    def noted(self: WireEndpoint, *args: Any) -> Any:
        blocks.append(connection.in_atomic_block)
        return original(self, *args)

    monkeypatch.setattr(WireEndpoint, "_answer", noted)
    wanted = f"Ship 7321 was late by {7321 % 37} hours."
    with answering(settings, say((wanted, 1))) as server:
        result = generated(cast, "How many hours was ship 7321 late?", thread=str(work.thread))
    assert result["method"] == "generation"
    assert [s["text"] for s in result["sentences"]] == [wanted]
    assert blocks == [False]
    (body,) = server.bodies
    content = body["messages"][-1]["content"]
    n_sent = len(set(re.findall(r"Ship \d+ was late", content)))
    assert 0 < n_sent == result["usage"]["passages"] <= PASSAGES_MAX < 0.02 * EVENTS
    size = one("SELECT sum(length(data::text)) FROM gp_event WHERE thread_id = %s", (work.thread,))
    assert len(json.dumps(body)) < 0.02 * size
