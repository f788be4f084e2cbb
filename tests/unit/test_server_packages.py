"""What needs a package of the extra `server` says so where it is missing."""

from __future__ import annotations

import re
import sys

import pytest

from approvals.anchors import time_stamps
from approvals.notify.channels import chat
from approvals.notify.texts.kinds import NotDelivered
from checkpoints.errors import InvalidValue
from checkpoints.server_packages import CHATS, SPANS, TIME_STAMPS
from dashboard.configuration import anchors
from dashboard.configuration.sources import Misconfigured
from tests.support.cast import make_cast
from workers.slot import spans

SENTENCE = r"needs? the extra: pip install '\.\[server\]'\."
SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"


@pytest.fixture(autouse=True)
def without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment into which only `pip install .` has put something."""
    for module in (CHATS, SPANS, TIME_STAMPS):
        monkeypatch.setitem(sys.modules, module, None)


def test_a_chat_is_refused_when_it_is_entered_and_when_it_is_sent() -> None:
    with pytest.raises(InvalidValue, match=SENTENCE):
        chat.check_address(SLACK)
    with pytest.raises(NotDelivered, match=SENTENCE):
        chat.prepared(SLACK, "A request", "Look.")


def test_an_authority_of_time_stamps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEPOST_ANCHORS", "tsa+https://tsa.example/tsr")
    with pytest.raises(Misconfigured, match=SENTENCE):
        anchors.destinations()
    with pytest.raises(time_stamps.BadStamp, match=SENTENCE):
        time_stamps.check(b"", "00" * 32, ca="/nowhere")


def test_spans_are_not_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    spans.start_exporting()
    assert spans._exporters == []


@pytest.mark.django_db
def test_spans_are_not_taken() -> None:
    client = make_cast().client("operator")
    answer = client.post("/api/v1/otlp/v1/traces", {}, content_type="application/json")
    assert answer.status_code == 501
    assert re.search(SENTENCE, answer.json()["detail"])
