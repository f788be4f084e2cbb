"""`delete_thread` hides a thread from LangGraph and erases nothing; no text says otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.bench import ROOT, SOURCES, Script, Server, payload

from .test_saver import checkpoints

TEXT = "the name of a person"
PAGE = (ROOT / "docs/howto/langgraph.md").read_text()


@pytest.mark.nightly  # it starts processes
def test_a_deleted_thread_is_hidden_and_its_record_and_proof_stay(
    server: Server, langgraph: Callable[..., Script]
) -> None:
    def act(name: str) -> Any:
        return payload(langgraph("deletion.py", name, "gone", folder=name).end())

    before = act("invoke")
    assert before["newest"] == TEXT
    thread = server.wait_thread("deleting", "gone")
    rows, state = checkpoints(server, thread), server.state(thread)
    assert state["text"] == TEXT
    assert act("delete") == {"listed": 0, "newest": None}
    # Also for a process that never knew of it; a second time there is nothing left to hide.
    assert act("look") == act("delete") == {"listed": 0, "newest": None}

    # At Gatepost all of it is there as before, with what was deleted and the proof.
    assert [row["id"] for row in checkpoints(server, thread)] == [row["id"] for row in rows]
    assert server.state(thread) == state
    records = server.operator.get(f"/threads/{thread}/activities/?limit=200")["results"]
    hidden = [one for one in records if one["tool"] == "langgraph.deleted"]
    assert sum(len(one["result"]) for one in hidden) == before["listed"]
    assert server.verify(thread)["intact"] is True

    # The name may be used again: LangGraph begins anew, in the same thread of Gatepost.
    again = act("again")
    assert again["newest"] == "anew"
    assert server.wait_thread("deleting", "gone") == thread
    after = {row["id"] for row in checkpoints(server, thread)}
    assert after > {row["id"] for row in rows}
    assert server.verify(thread)["intact"] is True


def test_no_text_of_the_client_promises_more() -> None:
    texts = {path: path.read_text() for path in SOURCES.rglob("*.py")}
    texts[ROOT / "clients/python/README.md"] = (ROOT / "clients/python/README.md").read_text()
    for path, text in texts.items():
        assert not re.search(r"\b(erase[sd]?|erasure|purged?|wiped?)\b", text, re.I), path
    (section,) = re.findall(r"^## Deleting hides\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert "does not erase" in " ".join(section.split())
