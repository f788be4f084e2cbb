"""Exactly the listed methods pass, in both directions; what reads from a server is on record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp_types import methods as spec

from checkpoints import chain
from dashboard.gateway.registry.changes import Wanted
from tests.faults.embedded.helpers import wait_until
from tests.unit.dashboard.gateway.calls.bench import META, VERSION, Gate, gate, last, stream
from tests.unit.dashboard.gateway.calls.scripted import Message, scripted
from tests.unit.dashboard.gateway.servers import change_mcp_server

pytestmark = [pytest.mark.slow, pytest.mark.requirement("G10")]
RECORDER = Path(__file__).with_name("recorder.py")
# Each request that reads, with the parameters of the protocol and the group whose mode decides.
READS: dict[str, tuple[str, Message]] = {
    "resources/list": ("resources", {"cursor": "c"}),
    "resources/templates/list": ("resources", {}),
    "resources/read": ("resources", {"uri": "note://x"}),
    "resources/subscribe": ("resources", {"uri": "note://x"}),
    "resources/unsubscribe": ("resources", {"uri": "note://x"}),
    "prompts/list": ("prompts", {}),
    "prompts/get": ("prompts", {"name": "greet", "arguments": {"name": "Ada"}}),
    "completion/complete": (
        "completions",
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "n", "value": "A"}},
    ),
}
UNASKED = {"initialize", "ping", "server/discover", "tools/list"}
NOTES = {f"notifications/{n}" for n in ("initialized", "cancelled", "progress")}
NOTES |= {"notifications/roots/list_changed"}
OURS = {"tools/call", "tasks/get", "tasks/update", "tasks/cancel"}
SPEC = {method for method, _ in (*spec.CLIENT_REQUESTS, *spec.CLIENT_NOTIFICATIONS)}
SPEC |= {method for method, _ in (*spec.SERVER_REQUESTS, *spec.SERVER_NOTIFICATIONS)}


def odd_spellings(method: str) -> Iterator[str]:
    """Names that some server could take for the method."""
    yield from (method.upper(), method.title(), method.swapcase(), method.replace("/", "."))
    yield from (
        f" {method}",
        f"{method} ",
        f"{method}\t",
        f"{method}\n",
        f"{method}/",
        f"/{method}",
    )
    yield from (f"./{method}", f"rpc.{method}", f"{method}?x", f"{method}#", f"{method}\x1f")
    yield from (method.replace("/", "//"), method.replace("/", "\\"), method.replace("/", "%2F"))
    yield from (method.replace("/", "\u2215"), method.replace("l", "\u0406"))
    yield from (f"{method[0]}\u200b{method[1:]}", f"\ufeff{method}", f"{method}\u00ad")
    yield from (chr(ord(method[0]) + 0xFEE0) + method[1:], method.replace("s", "\u017f"), "")


def unlisted() -> Iterator[tuple[str, bool]]:
    """(method, whether it is sent as a request) of what passes in neither form."""
    requests = OURS | UNASKED | READS.keys()
    for method in sorted(SPEC | {"logging/setLevel", "tasks/result", "tasks/list", "x/y", "tools"}):
        if method not in requests:
            yield method, True
        if method not in NOTES and method not in OURS:
            yield method, False
    for method in sorted(requests | NOTES):
        for odd in odd_spellings(method):
            if odd not in requests and odd not in NOTES:
                yield odd, True
                if method in ("tools/call", "notifications/initialized"):
                    yield odd, False


@pytest.fixture(params=["http", "stdio"])
def recorded(
    request: pytest.FixtureRequest, real_db: str, tmp_path: Path
) -> Iterator[tuple[Gate, Callable[[], list[Message]]]]:
    """A gateway before a server that notes all that reaches it, and what it noted."""
    if request.param == "stdio":
        seen = tmp_path / "seen.txt"
        with gate(tmp_path, command=True, program=RECORDER) as at:
            seen.unlink(missing_ok=True)
            yield (
                at,
                lambda: (
                    [json.loads(line) for line in seen.read_text().splitlines()]
                    if seen.exists()
                    else []
                ),
            )
        return
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        server.seen.clear()
        yield at, lambda: list(server.seen)


def test_what_is_in_no_list_never_reaches_the_server(
    recorded: tuple[Gate, Callable[[], list[Message]]],
) -> None:
    at, seen = recorded
    meta = {f"{META}protocolVersion": VERSION, f"{META}clientCapabilities": {}}
    tried = 0
    params = {"name": "say", "arguments": {}, "uri": "note://x", "_meta": meta}
    with httpx.Client(headers={"Authorization": f"Bearer {at.token}"}, timeout=60) as client:
        for method, is_request in unlisted():
            body = {"jsonrpc": "2.0", "method": method, "params": params}
            response = client.post(at.url, json=body | {"id": tried} if is_request else body)
            assert response.status_code in (200, 400), (method, response.text)
            assert last(response)["error"]["code"] == -32601, (method, response.text)
            tried += 1
    assert tried > 300
    assert seen() == []
    assert at.effects() == []


def test_members_that_a_server_could_take_for_others_are_refused(
    recorded: tuple[Gate, Callable[[], list[Message]]],
) -> None:
    at, seen = recorded
    call = {"name": "say", "arguments": {}}
    base = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    bodies = [
        base | {"Method": "tools/call", "params": call},
        base | {"METHOD": "tools/call"},
        base | {"result": {}},
        base | {"method": None, "result": {}},
        base | {"method": ["tools/call"]},
        base | {"method": {"tools/call": 1}},
        {"jsonrpc": "2.0", "id": 1, "Method": "tools/call", "params": call},
        base | {"method": "tools/call", "params": call | {"Arguments": {"x": 1}}},
        base | {"method": "tools/call", "params": call | {"Name": "other"}},
        base | {"method": "resources/read", "params": {"uri": "a:b", "URI": "c:d"}},
        base | {"method": "prompts/get", "params": {"name": "a", "Name": "b"}},
    ]
    for body in bodies:
        assert last(at.post(body))["error"]["code"] in (-32600, -32602), body
    assert seen() == []
    assert at.effects() == []


def test_a_stranger_learns_of_no_method(gateway: Gate) -> None:
    for method in ("resources/read", "logging/setLevel", "tools/call "):
        assert gateway.send(method, {"uri": "x"}, token="gp_nobody").status_code == 401


def test_each_read_is_on_record_and_reaches_the_server_as_it_came(
    recorded: tuple[Gate, Callable[[], list[Message]]],
) -> None:
    at, seen = recorded
    for method, (_, params) in READS.items():
        assert at.result(method, params) == {}, method
    sent = {m["method"]: {k: v for k, v in m["params"].items() if k != "_meta"} for m in seen()}
    assert sent == {method: params for method, (_, params) in READS.items()}
    effects = at.effects()
    assert [(e.tool, dict(e.args), e.state, e.result) for e in effects] == [
        (method, params, "done", {}) for method, (_, params) in READS.items()
    ]
    (thread,) = at.threads()
    assert chain.verify_thread(thread.id).intact


@pytest.mark.parametrize("method", READS)
def test_the_mode_of_a_server_decides_about_its_reads(gateway: Gate, method: str) -> None:
    group, params = READS[method]
    admin = gateway.cast.actor("admin")

    def set_mode(mode: str) -> None:
        change_mcp_server(admin, gateway.server, Wanted(**{group: mode}))  # type: ignore[arg-type]

    set_mode("refuse")
    assert last(gateway.send(method, params))["error"]["code"] == -32000
    capabilities = gateway.result("server/discover")["capabilities"]
    assert group not in capabilities
    assert gateway.effects() == []

    set_mode("ask")
    refused = last(gateway.send(method, params))["error"]
    (request,) = gateway.open()
    assert (refused["code"], f"/approvals/{request.id}/" in refused["message"]) == (-32000, True)
    gateway.send(method, params)
    assert [one.id for one in gateway.open()] == [request.id]
    assert [e.state for e in gateway.effects()] == []
    gateway.decide()
    gateway.send(method, params)
    (effect,) = gateway.effects()
    assert (effect.tool, dict(effect.args)) == (method, params)
    assert effect.approval is not None
    # It is consumed: the next one is asked anew.
    gateway.send(method, params)
    assert len(gateway.open()) == 1


def test_a_policy_names_a_read_by_its_method(gateway: Gate) -> None:
    gateway.policy("tool == 'resources/read' && args.uri.startsWith('note://')")
    held = last(gateway.send("resources/read", {"uri": "note://today"}))
    assert "/approvals/" in held["error"]["message"]
    assert gateway.result("prompts/get", {"name": "greet", "arguments": {"name": "Ada"}})
    gateway.decide("edit", args={"uri": "note://other"})
    answer = last(gateway.send("resources/read", {"uri": "note://today"}))
    assert "note://other" in answer["error"]["message"]


def test_what_a_server_asks_passes_by_list(real_db: str, tmp_path: Path) -> None:
    listed = [
        {"method": method, "id": f"s{n}", "params": {}}
        for n, method in enumerate(("roots/list", "sampling/createMessage", "elicitation/create"))
    ]
    listed += [{"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}]
    odd: list[Message] = [
        {"method": "tools/call", "id": "o1", "params": {"name": "x"}},
        {"method": "Sampling/createMessage", "id": "o2"},
        {"method": "elicitation/create ", "id": "o3"},
        {"method": "notifications/tasks/status", "params": {}},
        {"method": "notifications/x", "params": {}},
        {"method": ["roots/list"], "id": "o4"},
    ]
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        server.answers["tools/call"] = lambda _: [*listed, *odd, {"result": {"content": []}}]
        server.answers["ping"] = lambda _: [*odd, *listed, {"result": {}}]
        for method, params in (("tools/call", {"name": "say", "arguments": {}}), ("ping", {})):
            messages = stream(at.send(method, params))
            assert [m.get("method") for m in messages] == [*(m["method"] for m in listed), None]
            wait_until(
                lambda: sum("error" in m for m in server.seen) >= 4,
                seconds=10,
                what="the answers to the server",
            )
            answers = {m["id"]: m["error"]["code"] for m in server.seen if "error" in m}
            assert answers == {f"o{n}": -32601 for n in range(1, 5)}
            server.seen.clear()


def test_capabilities_name_what_passes(real_db: str, tmp_path: Path) -> None:
    stated: dict[str, Any] = {name: {} for name in ("tools", "resources", "prompts", "completions")}
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        result = {"result": {"capabilities": stated | {"logging": {}, "tasks": {}}}}
        server.answers["initialize"] = lambda _: [result]
        assert at.result("initialize", {})["capabilities"] == stated
