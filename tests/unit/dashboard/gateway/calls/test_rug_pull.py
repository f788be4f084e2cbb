"""A server that makes another tool of one between the approval and the call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.embedded.helpers import wait_until
from tests.unit.dashboard.gateway.calls.bench import Gate, gate, text_of
from tests.unit.dashboard.gateway.calls.scripted import TOOL, Message, Scripted, scripted
from tests.unit.dashboard.gateway.servers import set_mcp_tool_mode

pytestmark = [pytest.mark.slow, pytest.mark.requirement("G10")]
ARGS = {"n": 1}


def _lists(*tools: Message) -> Callable[[Message], list[Message]]:
    return lambda _: [{"result": {"tools": list(tools)}}]


# {what the server lists after the approval: its answer, a word of the sentence for the agent}
LISTINGS: dict[str, tuple[Callable[[Message], list[Message]], str]] = {
    "description": (_lists({**TOOL, "description": "Pay."}), "description"),
    "schema": (_lists({**TOOL, "inputSchema": {"type": "object", "required": ["m"]}}), "inputSch"),
    "gone": (_lists(), "no longer lists"),
    "twice": (_lists(TOOL, {**TOOL, "description": "Pay."}), "description"),
    "no list": (lambda _: [{"result": {"tools": "say"}}], "does not list"),
    "no tool": (_lists({"name": 7}), "not a tool"),
    "an error": (lambda _: [{"error": {"code": -32000, "message": "no"}}], "does not list"),
    "no end": (lambda _: [{"result": {"tools": [TOOL], "nextCursor": "c"}}], "no end"),
}


def _approved(at: Gate, server: Scripted, *, as_task: bool) -> str:
    set_mcp_tool_mode(at.cast.actor("admin"), at.server, "say", "ask")
    held = at.call("say", ARGS, tasks=as_task)
    at.decide()
    server.seen.clear()
    return str(held["taskId"]) if as_task else ""


def test_a_tool_that_changed_since_its_approval_is_not_called(real_db: str, tmp_path: Path) -> None:
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        for number, (listing, word) in enumerate(LISTINGS.values()):
            server.answers["tools/list"] = _lists(TOOL)
            at.accept()
            args = {"n": number}
            set_mcp_tool_mode(at.cast.actor("admin"), at.server, "say", "ask")
            at.call("say", args)
            at.decide()
            server.answers["tools/list"] = listing
            text = text_of(at.call("say", args))
            assert word in text, text
            assert server.calls == []
        assert at.effects() == []
        # Its approval was not spent: the same tool as approved goes out, after one more look at it.
        server.answers["tools/list"] = _lists(TOOL)
        at.accept()
        server.answers["tools/call"] = lambda _: [{"result": {"content": []}}]
        server.seen.clear()
        assert at.call("say", args) == {"content": []}
        assert [m["method"] for m in server.seen] == ["tools/list", "tools/call"]


def test_a_task_looks_at_the_tool_again_too(real_db: str, tmp_path: Path) -> None:
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        server.answers["tools/call"] = lambda _: [{"result": {"content": []}}]
        task = _approved(at, server, as_task=True)
        server.answers["tools/list"] = _lists()
        shown = at.task(task)
        assert (shown["status"], "no longer lists" in shown["statusMessage"]) == ("working", True)
        server.answers["tools/list"] = _lists(TOOL)
        wait_until(lambda: at.task(task)["status"] == "completed", seconds=20, what="the task")
        assert len(server.calls) == 1
        assert server.seen[-2]["method"] == "tools/list"

        changed = at.call("say", {"n": 2}, tasks=True)["taskId"]
        at.decide()
        server.answers["tools/list"] = _lists({**TOOL, "description": "Pay."})
        shown = at.task(changed)
        assert (shown["status"], "changed" in str(shown["result"])) == ("completed", True)
        assert len(server.calls) == 1
