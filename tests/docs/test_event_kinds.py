"""docs/events.md is made from the records of the kinds, and each kind has its record."""

from __future__ import annotations

from checkpoints.states import FIELDS, EventKind, WorkspaceEventKind
from dashboard.wording import events
from tests.support.declared_payloads import TYPES, undeclared
from tools.event_kinds import PAGE, page

KINDS = (*EventKind, *WorkspaceEventKind)


def test_the_page_is_made_from_the_records() -> None:
    assert PAGE.read_text() == page(), "run `python -m tools.event_kinds`"


def test_each_kind_is_declared_once_on_the_ground_floor_and_once_for_people() -> None:
    assert set(events.KINDS) == {*KINDS}


def test_each_field_of_a_payload_is_described_and_none_is_left_over() -> None:
    assert {name for kind in KINDS for name in kind.fields} == set(FIELDS)
    assert {of_type for of_type, _ in FIELDS.values()} <= set(TYPES)


def test_events_of_the_product_are_compared_with_their_record() -> None:
    """Every test does so: see `tests.support.declared_payloads`."""
    kind = EventKind.THREAD_SLEPT
    assert undeclared(kind, {"reason": "busy", "seconds": 2.5, "waiting_on": None}) == []
    assert undeclared(kind, {"reason": 1, "because": "busy"}) == ["reason", "because"]
