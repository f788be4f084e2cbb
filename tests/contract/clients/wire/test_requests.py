"""One request until it has an answer: what is sent again, under which key, and when it gives up."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from gatepost_client.wire import requests
from gatepost_client.wire.api import LeaseApi
from gatepost_client.wire.errors import Refused, Unreachable
from gatepost_client.wire.flow import Answer, Disconnected, Send, Sleep

DONE = Answer(200, {}, {"id": "1"})


def play(
    flow: Generator[Any, Any, Any], answers: list[Answer | Exception]
) -> tuple[list[Send], list[float], Any]:
    """Perform a flow with these answers: (what it sent, its pauses, its result)."""
    sent, pauses = [], []
    act: Any = flow.__next__
    while True:
        try:
            command = act()
        except StopIteration as stop:
            return sent, pauses, stop.value
        if isinstance(command, Sleep):
            pauses.append(command.seconds)
            act = flow.__next__
            continue
        sent.append(command)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            act = lambda error=answer: flow.throw(error)  # noqa: E731
        else:
            act = lambda answer=answer: flow.send(answer)  # noqa: E731


STILL_WORKING = Answer(409, {}, {"type": "urn:gatepost:problem:still-working"})


@pytest.mark.parametrize(
    "trouble",
    [
        Disconnected("reset"),
        Answer(429, {"retry-after": "3"}, {}),
        Answer(502, {}, None),
        Answer(503, {"retry-after": "5"}, {}),
        Answer(504, {}, None),
        STILL_WORKING,
    ],
    ids=["disconnected", "429", "502", "503", "504", "still-working"],
)
def test_trouble_that_passes_is_tried_again_under_the_same_key(trouble: Any) -> None:
    flow = requests.request("POST", "/threads/", {"agent": "a"})
    sent, pauses, result = play(flow, [trouble, trouble, trouble, DONE])
    assert result is DONE
    assert len(sent) == 4
    assert len({one.headers["Idempotency-Key"] for one in sent}) == 1
    expected = float(getattr(trouble, "headers", {}).get("retry-after", 0))
    assert all(pause >= 0.8 * expected for pause in pauses)
    assert pauses[2] > 0


def test_two_requests_have_two_keys_and_a_read_has_none() -> None:
    keys = {
        play(requests.request("POST", "/x/", {}), [DONE])[0][0].headers["Idempotency-Key"]
        for _ in range(2)
    }
    assert len(keys) == 2
    assert "Idempotency-Key" not in play(requests.request("GET", "/x/"), [DONE])[0][0].headers


def test_a_commit_is_named_by_its_own_id_and_needs_no_key() -> None:
    at = LeaseApi("01a0", "7d")
    flows = [at.commit("work", {}, step=1), at.commit_point({"id": "9c", "delta": {}})]
    for flow in flows:
        sent, _, _ = play(flow, [Disconnected("reset"), DONE])
        assert len(sent) == 2
        assert sent[0].body == sent[1].body
        assert sent[0].body["id"]
        assert "Idempotency-Key" not in sent[0].headers
    assert "Idempotency-Key" in play(at.renew(60), [DONE])[0][0].headers


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 413, 422, 500])
def test_a_refusal_is_not_sent_again_and_says_what_it_is(status: int) -> None:
    problem = {"type": "urn:gatepost:problem:stale", "detail": "Somebody was faster.", "step": 4}
    with pytest.raises(Refused) as refused:
        play(requests.request("POST", "/x/", {}), [Answer(status, {}, problem)])
    assert (refused.value.status, refused.value.code) == (status, "stale")
    assert refused.value.problem["step"] == 4
    assert "Somebody was faster." in str(refused.value)


@pytest.mark.parametrize(
    ("trouble", "error"),
    [(Disconnected("no route"), Unreachable), (Answer(503, {}, None), Refused)],
    ids=["disconnected", "503"],
)
def test_patience_ends(trouble: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        play(requests.request("GET", "/x/", patience=0), [trouble])
