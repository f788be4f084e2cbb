"""Only the answer to this very request counts, and a broken one stops no other call."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from checkpoints.states import Status
from dashboard.gateway.upstream.streamable_http import is_answer
from tests.support.settled import settle
from tests.unit.dashboard.gateway.calls.bench import Gate, gate, last, text_of
from tests.unit.dashboard.gateway.calls.scripted import Message, scripted

pytestmark = [pytest.mark.slow, pytest.mark.requirement("G10")]
RESULT = {"content": [{"type": "text", "text": "paid"}]}
MISSING: Any = ...
IDS = [1, "1", 0, 7, True, 1.0, None, MISSING, "", [1], {"id": 1}, "x"]


def _named(ident: Any, body: Message) -> Message:
    return body if ident is MISSING else body | {"id": ident}


@pytest.mark.parametrize("ident", IDS, ids=repr)
def test_only_the_same_id_of_the_same_type_is_that_of_the_request(ident: Any) -> None:
    for own in (1, "1", "x", 7):
        same = type(ident) is type(own) and ident == own
        for body in ({"result": {}}, {"error": {"code": 1, "message": "x"}}):
            assert is_answer(_named(ident, body), own) is same
        assert not is_answer(_named(own, {"result": {}, "error": {}}), own)
        assert not is_answer(_named(own, {}), own)


@pytest.mark.parametrize("as_stream", [False, True], ids=["json", "stream"])
def test_an_answer_to_another_request_is_not_taken(
    real_db: str, tmp_path: Path, as_stream: bool
) -> None:
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        server.streams = as_stream
        for number, ident in enumerate(IDS):
            server.answers["tools/call"] = lambda _, i=ident: [  # type: ignore[misc]
                _named(i, {"result": RESULT, "own id": True})
            ]
            body = {"name": "say", "arguments": {"n": number}}
            message = {"jsonrpc": "2.0", "id": "own", "method": "tools/call", "params": body}
            answer = last(at.post(message))
            assert answer["id"] == "own"
            assert "Nobody knows" in text_of(answer["result"]), ident
        # Each of them is left to a person, and the next call goes out all the same.
        assert [effect.state for effect in at.effects()] == ["unknown"] * len(IDS)
        assert {thread.status for thread in at.threads()} == {Status.ATTENTION}
        server.answers["tools/call"] = lambda _: [{"result": RESULT}]
        assert at.call("say", {"n": "next"}) == RESULT
        assert len(server.calls) == len(IDS) + 1


def _unknown(at: Gate, server: Any, args: Message) -> None:
    server.answers["tools/call"] = lambda _: [{"id": "other", "own id": True, "result": RESULT}]
    assert "Nobody knows" in text_of(at.call("say", args))
    server.answers["tools/call"] = lambda _: [{"result": RESULT}]


def test_a_call_in_doubt_stops_the_very_same_call_and_no_other(
    real_db: str, tmp_path: Path
) -> None:
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        _unknown(at, server, {"n": 1})
        (thread,) = at.threads()
        for _ in range(2):
            text = text_of(at.call("say", {"n": 1}))
            assert "this very call" in text
            assert str(thread.id) in text
            assert at.call("say", {"n": 2}) == RESULT
        assert len(server.calls) == 3
        actor = at.cast.actor("operator")
        (effect,) = [e for e in at.effects() if e.state == "unknown"]
        settle(actor, thread.id, effect.id, "not_happened", reason="looked")
        assert at.call("say", {"n": 1}) == RESULT


def test_calls_at_work_beside_a_broken_one_end_as_they_do(real_db: str, tmp_path: Path) -> None:
    def slow(message: Message) -> list[Message]:
        number = message["params"]["arguments"]["n"]
        time.sleep(0.5 if number else 0.1)
        return [{"result": RESULT} if number else {"id": 0, "own id": True, "result": RESULT}]

    with scripted() as server, gate(tmp_path, url=server.url) as at:
        server.answers["tools/call"] = slow
        with ThreadPoolExecutor(6) as pool:
            results = list(pool.map(lambda n: at.call("say", {"n": n}), range(6)))
        assert "Nobody knows" in text_of(results[0])
        assert results[1:] == [RESULT] * 5
        assert at.call("say", {"n": 7}) == RESULT
        states = sorted(effect.state for effect in at.effects())
        assert states == ["done"] * 6 + ["unknown"]
