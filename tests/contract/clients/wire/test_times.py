"""A call is reported with the time that it took."""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import pytest

from gatepost_client.wire import api
from gatepost_client.wire.api import LeaseApi
from gatepost_client.wire.flow import Answer

POSITION = {"node": "work", "index": 0, "key": "look#0"}


def sent(flow: Generator[Any, Any, Any], reply: dict[str, Any]) -> dict[str, Any]:
    """The body that a flow sends; it is answered."""
    request = next(flow)
    with pytest.raises(StopIteration):
        flow.send(Answer(200, {}, reply))
    body: dict[str, Any] = request.body
    return body


@pytest.mark.parametrize("kind", ["call", "effect"])
@pytest.mark.parametrize("state", ["done", "failed", "unknown"])
def test_an_outcome_says_how_long_the_call_took(
    kind: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter((100.0, 102.5))
    monkeypatch.setattr(api, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    lease, outcome = LeaseApi("t", "token"), {"state": state, "usage": {"tokens": 7}}
    if kind == "call":
        begin = lease.begin_call(POSITION, "activity", "look", {}, 1)
        settle = lease.settle_call
        sent(begin, {"do": "call"})
        body = sent(settle(POSITION, "activity", "look", outcome, 1), {})
    else:
        sent(lease.begin_effect(POSITION, "pay", {}, None, 1), {"do": "call"})
        body = sent(lease.settle_effect(POSITION, "pay", outcome, 1), {})
    times = {} if state == "unknown" else {"milliseconds": 2500}
    assert body["usage"] == {"tokens": 7, **times}


def test_an_outcome_that_says_its_own_time_keeps_it() -> None:
    lease = LeaseApi("t", "token")
    sent(lease.begin_call(POSITION, "activity", "look", {}, 1), {"do": "call"})
    outcome = {"state": "done", "usage": {"milliseconds": 9}}
    assert sent(lease.settle_call(POSITION, "activity", "look", outcome, 1), {})["usage"] == {
        "milliseconds": 9
    }


def test_no_time_is_made_up_for_a_call_that_another_process_began() -> None:
    body = sent(
        LeaseApi("t", "token").settle_call(POSITION, "activity", "look", {"state": "done"}, 1), {}
    )
    assert "usage" not in body


def test_times_of_calls_that_are_never_settled_are_not_kept_for_ever() -> None:
    lease = LeaseApi("t", "token")
    for do in ("wait", "result", "stop"):
        sent(lease.begin_call(POSITION, "activity", "look", {}, 1), {"do": do})
    assert lease._began == {}
    for step in range(api.BEGUN_MAX + 10):
        sent(lease.begin_call(POSITION, "activity", "look", {}, step), {"do": "call"})
    assert len(lease._began) == api.BEGUN_MAX
    newest = sent(lease.settle_call(POSITION, "activity", "look", {"state": "done"}, step), {})
    assert "milliseconds" in newest["usage"]
