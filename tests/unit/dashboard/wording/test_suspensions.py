"""Each way in which a thread stops has a sentence of its own in the event log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from checkpoints.log.control_columns import leaving
from checkpoints.states import EventKind
from checkpoints.views import EventRow
from dashboard.wording.events import event_sentence

GATE = {"kind": "gate", "nodes": ["pay"], "titles": ["Pay it?"]}
ALL = {"number": 1, "need": 105, "of": 105, "raises": True}
ANY = {"number": 1, "need": 1, "of": 8, "raises": False}
ONE = {"number": 1, "need": 1, "of": 1, "raises": True}
CHILDREN = {"kind": "children", "nodes": ["read"], "need": 1, "of": 1}
K = EventKind


@pytest.mark.parametrize(
    ("kind", "reason", "data", "waiting_on", "sentence"),
    [
        (K.THREAD_SUSPENDED, "", {}, GATE, "Waiting for people to decide"),
        (
            *(K.THREAD_SUSPENDED, "", {}),
            GATE | {"titles": ["Pay it?", "How much?"]},
            "Waiting for people to decide 2 requests",
        ),
        (
            *(K.THREAD_SUSPENDED, "", {}),
            CHILDREN | {"joins": [ALL]},
            "Waiting for 105 children to end",
        ),
        (
            *(K.THREAD_SUSPENDED, "", {}),
            CHILDREN | {"joins": [ANY]},
            "Waiting for 1 of 8 children to end",
        ),
        (K.THREAD_SUSPENDED, "", {}, CHILDREN | {"joins": [ONE]}, "Waiting for 1 child to end"),
        (
            *(K.THREAD_SUSPENDED, "", {}),
            GATE | {"joins": [ALL]},
            "Waiting for people to decide and for 105 children to end",
        ),
        (K.THREAD_SLEPT, "", {"seconds": 30}, None, "Sleeping for 30 s"),
        (
            *(K.THREAD_SLEPT, "busy", {"seconds": 90}, None),
            "Sleeping for 2 min: busy",
        ),
        (K.THREAD_PAUSED, "The budget is spent.", {}, None, "Paused: The budget is spent."),
        (
            K.THREAD_PARKED,
            "Code is missing.",
            {},
            {"kind": "agent"},
            "Needs attention: Code is missing.",
        ),
        (K.THREAD_FAILED, "read: no file", {}, None, "Failed: read: no file"),
    ],
)
def test_each_way_to_stop_has_its_sentence(
    kind: EventKind, reason: str, data: dict[str, Any], waiting_on: Any, sentence: str
) -> None:
    body = leaving(kind, reason=reason, data=data, waiting_on=waiting_on)
    assert event_sentence(_event(kind, body)) == sentence


def _event(kind: EventKind, data: dict[str, Any]) -> EventRow:
    return EventRow(UUID(int=1), 1, kind, "worker:vm:1:boot", data, datetime.now(UTC), "", "")


def test_events_of_former_versions_say_that_it_waits() -> None:
    assert event_sentence(_event(K.THREAD_SUSPENDED, {"waiting_on": "0" * 64})) == "Waiting"
