"""`delete_thread` hides a thread from LangGraph and requests erasure where the token may."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from dashboard.identity import tokens
from tests.contract.clients.bench import ROOT, Script, Server, payload

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


@pytest.mark.nightly  # it starts processes
def test_a_token_that_may_requests_the_erasure(
    server: Server, langgraph: Callable[..., Script]
) -> None:
    def act(name: str, **environment: str) -> Any:
        started = langgraph("deletion.py", name, "asked", folder=name, **environment)
        return payload(started.end())

    assert act("invoke")["newest"] == TEXT
    thread = server.wait_thread("deleting", "asked")
    operator = get_user_model().objects.get(username="operator")
    scopes = ["read", "start", "work", "erase"]
    token = tokens.make(operator, made_by="user:0", scopes=scopes)[1]
    assert act("delete", GATEPOST_TOKEN=token) == {"listed": 0, "newest": None}
    (row,) = server.operator.get("/erasures/")["results"]
    assert (row["thread"], row["state"]) == (thread, "requested")
    assert row["reason"] == "delete_thread of LangGraph"
    # Nothing is gone before a second person approves.
    assert server.state(thread)["text"] == TEXT


def test_no_text_promises_more() -> None:
    (section,) = re.findall(
        r"^## Deleting hides, and requests erasure\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S
    )
    text = " ".join(section.split())
    assert "second person" in text
    assert "without the scope `erase`" in text
