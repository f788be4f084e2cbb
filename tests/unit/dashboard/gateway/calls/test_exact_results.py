"""Results that JSON cannot hold exactly reach client and record as their server sent them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoints import chain
from checkpoints.state import marked
from dashboard.gateway.upstream.answers import decoded, encoded
from tests.unit.dashboard.gateway.calls.bench import Gate, gate
from tests.unit.dashboard.gateway.calls.scripted import Scripted, scripted
from tests.unit.dashboard.gateway.servers import set_mcp_tool_mode
from workers.step.results import RECORD_BYTES

pytestmark = [pytest.mark.slow, pytest.mark.requirement("F03"), pytest.mark.requirement("G10")]
RECORDER = Path(__file__).with_name("recorder.py")
DEEP = "[" * 20_000 + "]" * 20_000
# The result as the server spells it, and the kinds of the marks in its record.
RESULTS: dict[str, tuple[str, set[str]]] = {
    "nul": ('{"content":[{"type":"text","text":"a\\u0000b"}]}', {"text"}),
    "half a pair": ('{"content":["\\ud83d","\\ud83dx\\udead"]}', {"text"}),
    "not a number": ('{"n":NaN,"m":[Infinity,-Infinity]}', {"float"}),
    "digits": ('{"n":123456789012345678901234567890}', {"int"}),
    "more digits": ('{"n":' + "9" * 5_000 + "}", {"raw"}),
    "beyond a double": ('{"n":1.2345678901234567890123,"m":1e999}', {"raw"}),
    "twice": ('{"a":1,"a":{"b":1,"b":2}}', {"raw"}),
    "spaces": ('{ "a" : 1 , "a" : "\\u0041" }', {"raw"}),
    "deep": (DEEP, {"raw"}),
    "no object": ("[1,null]", set()),
    "line ends of Unicode": ('{"content":["a\u2028b\u2029c\x85d"]}', set()),
    "a mark": ('{"$exact":{"int":"7"},"b":[{"$exact":1}]}', {"object"}),
    "a long name": ('{"' + "k" * 1_001 + '":1}', {"object"}),
    "nothing": ("null", set()),
}


def _sent(at: Gate, number: int) -> str:
    body = {"name": "say", "arguments": {"n": number}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": body}
    return at.post(message).text


def _recorded(at: Gate) -> Any:
    effect = at.effects()[-1]
    assert effect.state == "done"
    return effect.result


def _alike(form: Any, spelled: str) -> bool:
    """True where a record gives back what was sent; the store orders the members of objects."""
    back = encoded(marked.unmark(form)).decode()
    if any(kind == "raw" for _, kind in marked.marks(form)):
        return back == spelled
    one, other = (json.dumps(json.loads(text), sort_keys=True) for text in (back, spelled))
    return one == other


def _serve(server: Scripted, spelled: str) -> None:
    server.answers["tools/call"] = lambda _: [{"spelled": spelled}]


@pytest.mark.parametrize("as_stream", [False, True], ids=["json", "stream"])
def test_a_result_is_passed_on_and_kept_as_it_came(
    real_db: str, tmp_path: Path, as_stream: bool
) -> None:
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        server.streams = as_stream
        for number, (spelled, kinds) in enumerate(RESULTS.values()):
            _serve(server, spelled)
            assert _sent(at, number) == f'{{"jsonrpc":"2.0","id":1,"result":{spelled}}}'
            form = _recorded(at)
            assert {kind for _, kind in marked.marks(form)} == kinds, spelled[:60]
            assert _alike(form, spelled)
        (thread,) = at.threads()
        assert chain.verify_thread(thread.id).intact


def test_a_program_is_read_as_exactly(real_db: str, tmp_path: Path) -> None:
    with gate(tmp_path, command=True, program=RECORDER) as at:
        for number, (spelled, kinds) in enumerate(RESULTS.values()):
            (tmp_path / "result.txt").write_text(spelled)
            assert _sent(at, number) == f'{{"jsonrpc":"2.0","id":1,"result":{spelled}}}'
            form = _recorded(at)
            assert {kind for _, kind in marked.marks(form)} == kinds, spelled[:60]
            assert _alike(form, spelled)


def test_a_held_call_answers_it_again_as_it_came(real_db: str, tmp_path: Path) -> None:
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        set_mcp_tool_mode(at.cast.actor("admin"), at.server, "say", "ask")
        _serve(server, '{"a":1,"a":"\\ud83d"}')
        task = at.call("say", {}, tasks=True)["taskId"]
        at.decide()
        for _ in range(40):
            text = at.send("tasks/get", {"taskId": task}, tasks=True).text
            if '"completed"' in text:
                break
        assert '"result":{"a":1,"a":"\\ud83d"}' in text
        assert len(server.calls) == 1


def test_a_result_larger_than_a_record_is_kept_as_a_file(real_db: str, tmp_path: Path) -> None:
    spelled = json.dumps({"content": [{"type": "text", "text": "x" * (RECORD_BYTES + 1)}]})
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        set_mcp_tool_mode(at.cast.actor("admin"), at.server, "say", "ask")
        _serve(server, spelled)
        task = at.call("say", {}, tasks=True)["taskId"]
        at.decide()
        for _ in range(40):
            text = at.send("tasks/get", {"taskId": task}, tasks=True).text
            if '"completed"' in text:
                break
        part = marked.large_part(_recorded(at))
        assert part is not None
        assert part["file"]["$artifact"] == part["sha256"]
        assert "x" * (RECORD_BYTES + 1) in text
        assert len(server.calls) == 1


def test_a_read_is_passed_on_as_it_came(real_db: str, tmp_path: Path) -> None:
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        for spelled, _ in RESULTS.values():
            server.answers["resources/read"] = lambda _, s=spelled: [{"spelled": s}]  # type: ignore[misc]
            assert at.send("resources/read", {"uri": "a:b"}).text.endswith(f'"result":{spelled}}}')
            assert _alike(_recorded(at), spelled)


def test_a_list_of_tools_that_names_something_twice_is_not_shown(
    real_db: str, tmp_path: Path
) -> None:
    """It would pass by the definitions that an admin accepted."""
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        server.answers["tools/list"] = lambda _: [
            {"spelled": '{"tools":[],"tools":[{"name":"x"}]}'}
        ]
        answer = at.send("tools/list")
        assert answer.status_code == 502
        assert '"x"' not in answer.text


def test_a_message_that_says_two_things_is_none() -> None:
    for raw in (
        b'{"jsonrpc":"2.0","id":1,"id":2,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"result":{"a":1,"a":2}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}} x',
        b"[]",
        b"\xff",
        b"{",
        b"",
    ):
        assert decoded(raw) is None, raw
