"""request_approval, report_outcome, ask, wait, decide: people hold an agent that has only MCP."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from mcp import Client

from tests.contract.clients.bench import Server

from .client import connected, read, refused, use

pytestmark = pytest.mark.nightly


def payment(**more: Any) -> dict[str, Any]:
    """A request to pay."""
    args = {"tool": "pay", "args": {"amount": "12.50"}, "title": "Pay 12.50 EUR", "risk": "high"}
    return {"name": f"pay-{uuid4()}", **args, **more}


async def decided(server: Server, client: Client, thread: str, verdict: str, **more: Any) -> None:
    """A reviewer decides while the agent waits; returns when the wait has seen it."""
    before = await use(client, "get", thread=thread)
    wait = asyncio.ensure_future(
        use(client, "wait", thread=thread, version=before["version"], seconds=50)
    )
    await asyncio.sleep(0)
    await asyncio.to_thread(server.decide, thread, verdict, **more)
    after = await wait
    assert after["version"] > before["version"]
    assert after["status"] == "queued"


async def test_a_call_is_made_once_people_have_approved_it(server: Server) -> None:
    request = payment()
    async with connected(server.url, server.token) as client:
        first = await use(client, "request_approval", **request)
        again = await use(client, "request_approval", **request)
        assert (first["do"], again["do"], first["lease"]) == ("wait", "wait", None)
        assert [one["args"] for one in again["approvals"]] == [request["args"]]
        thread = first["thread"]["id"]
        edited = {"amount": "10.00"}
        await decided(server, client, thread, "edit", args=edited)
        begun = await use(client, "request_approval", **request)
        assert (begun["do"], begun["args"]) == ("call", edited)
        assert begun["idempotency_key"]
        # Nobody else may call while the one that was let through has not reported.
        twice = await refused(client, "request_approval", **request)
        assert twice["type"] == "urn:gatepost:problem:leased"
        outcome = {"thread": thread, "lease": begun["lease"], "tool": "pay"}
        ended = await use(client, "report_outcome", **outcome, state="done", result={"receipt": 7})
        assert (ended["do"], ended["result"]) == ("answer", {"receipt": 7})
        recorded = await use(client, "request_approval", **request)
        assert (recorded["do"], recorded["result"]) == ("answer", {"receipt": 7})
    assert server.wait_status(thread, "succeeded")
    assert server.verify(thread)["intact"]


async def test_what_people_refuse_stays_refused(server: Server) -> None:
    request = payment()
    async with connected(server.url, server.token) as client:
        thread = (await use(client, "request_approval", **request))["thread"]["id"]
        await decided(server, client, thread, "reject", comment="Too much", what_next="go_on")
        for _ in range(2):
            answer = await use(client, "request_approval", **request)
            assert (answer["do"], answer["reason"], answer["lease"]) == (
                "refused",
                "Too much",
                None,
            )
    assert server.wait_status(thread, "succeeded")


async def test_the_same_name_takes_no_other_arguments(server: Server) -> None:
    request = payment()
    async with connected(server.url, server.token) as client:
        thread = (await use(client, "request_approval", **request))["thread"]["id"]
        other = {**request, "args": {"amount": "9999.00"}}
        assert (await refused(client, "request_approval", **other))["status"] == 422
        await decided(server, client, thread, "approve")
        assert (await refused(client, "request_approval", **other))["status"] == 422
        assert (await use(client, "request_approval", **request))["args"] == request["args"]


async def test_a_call_whose_outcome_nobody_knows_needs_a_person(server: Server) -> None:
    request = payment()
    async with connected(server.url, server.token) as client:
        thread = (await use(client, "request_approval", **request))["thread"]["id"]
        await decided(server, client, thread, "approve")
        begun = await use(client, "request_approval", **request)
        outcome = {"thread": thread, "lease": begun["lease"], "tool": "pay"}
        ended = await use(client, "report_outcome", **outcome, state="unknown", error="timed out")
        assert (ended["do"], ended["thread"]["status"]) == ("stop", "attention")
        problem = await refused(client, "request_approval", **request)
        assert (problem["status"], problem["thread_status"]) == (409, "attention")
        late = await refused(client, "report_outcome", **outcome, state="done")
        assert late["type"] == "urn:gatepost:problem:lease-lost"


async def test_a_call_that_did_not_happen_can_be_tried_again(server: Server) -> None:
    request = payment()
    async with connected(server.url, server.token) as client:
        thread = (await use(client, "request_approval", **request))["thread"]["id"]
        await decided(server, client, thread, "approve")
        begun = await use(client, "request_approval", **request)
        outcome = {"thread": thread, "lease": begun["lease"], "tool": "pay"}
        failed = await use(client, "report_outcome", **outcome, state="failed", error="no network")
        assert (failed["do"], failed["reason"]) == ("failed", "no network")
        again = await use(client, "request_approval", **request)
        assert again["do"] in ("call", "wait")


async def test_a_question_is_answered_in_the_form_that_was_wished(server: Server) -> None:
    question = {
        "name": f"title-{uuid4()}",
        "question": "Which title?",
        "schema": {"type": "string", "minLength": 3},
    }
    async with connected(server.url, server.token) as client:
        first = await use(client, "ask", **question)
        assert first["do"] == "wait"
        await decided(server, client, first["thread"]["id"], "respond", args="Words")
        for _ in range(2):
            answer = await use(client, "ask", **question)
            assert (answer["do"], answer["result"]) == ("answer", "Words")
    assert server.wait_status(first["thread"]["id"], "succeeded")


async def test_only_a_token_that_decides_has_the_tool(server: Server) -> None:
    request = payment()
    async with connected(server.url, server.token) as client:
        made = await use(client, "request_approval", **request)
        (approval,) = [one["id"] for one in made["approvals"]]
        verdict = {"verdict": "approve", "proposal_hash": made["approvals"][0]["proposal_hash"]}
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert "decide" not in names
        problem = await refused(client, "decide", approval=approval, **verdict)
        assert (problem["status"], problem["type"]) == (403, "urn:gatepost:problem:forbidden")
    async with connected(server.url, server.manager.token) as reviewer:
        names = {tool.name for tool in (await reviewer.list_tools()).tools}
        assert "decide" in names
        assert not names & {"start", "save_state", "request_approval", "ask", "input"}
        seen = await read(reviewer, f"gatepost://approvals/{approval}")
        assert seen["standing_hash"] == verdict["proposal_hash"]
        wrong = await refused(
            reviewer, "decide", approval=approval, verdict="approve", proposal_hash="0" * 64
        )
        assert wrong["type"] == "urn:gatepost:problem:proposal-changed"
        done = await use(reviewer, "decide", approval=approval, **verdict)
        assert done["outcome"] == "approve"
        second = await refused(reviewer, "decide", approval=approval, **verdict)
        assert (second["status"], second["approval"]["outcome"]) == (409, "approve")
