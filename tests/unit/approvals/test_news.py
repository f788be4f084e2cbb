"""A decision tells the floors above after its commit, and nothing when it is taken back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import transaction

from approvals import signals as own_signals
from checkpoints import signals

from .cast import MIRA, open_request, say

pytestmark = pytest.mark.usefixtures("real_db")


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """The names of the signals that were sent, in order."""
    names: list[str] = []
    receivers = []
    for module in (signals, own_signals):
        for name, signal in vars(module).items():
            if isinstance(signal, signals.Signal):

                def note(_name: str = name, **_news: object) -> None:
                    names.append(_name)

                signal.connect(note, weak=False)
                receivers.append((signal, note))
    yield names
    for signal, note in receivers:
        signal.disconnect(note)


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_a_decision_wakes_a_worker_once_after_its_commit(heard: list[str], verdict: str) -> None:
    row = open_request()
    heard.clear()
    with transaction.atomic():
        say(row, MIRA, verdict, comment="as agreed")
        assert heard == []
    assert heard == ["thread_queued", "thread_changed"]


def test_a_decision_that_is_taken_back_tells_nobody(heard: list[str]) -> None:
    row = open_request()
    heard.clear()
    with transaction.atomic():
        say(row, MIRA)
        transaction.set_rollback(True)
    assert heard == []
