"""save_state and load_state: the state of an agent by name, one checkpoint per save."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest

from tests.contract.clients.bench import Server

from .client import LEGACY, MODERN, connected, refused, use

pytestmark = pytest.mark.slow


@pytest.mark.requirement("B28")
@pytest.mark.parametrize("mode", [MODERN, LEGACY])
async def test_an_agent_saves_and_another_loads(server: Server, mode: str) -> None:
    name = f"conversation-{uuid4()}"
    first, second = {"turn": 1, "notes": ["tea"]}, {"turn": 2, "notes": ["tea", "hot"], "cost": 0.1}
    async with connected(server.url, server.token, mode) as client:
        assert (await refused(client, "load_state", name=name))["status"] == 404
        one = await use(client, "save_state", name=name, state=first)
        two = await use(client, "save_state", name=name, state=second)
    assert (one["checkpoint"]["number"], two["checkpoint"]["number"]) == (1, 2)
    async with connected(server.url, server.token, mode) as other:
        newest = await use(other, "load_state", name=name)
        earlier = await use(other, "load_state", name=name, number=1)
    assert (newest["state"], newest["context"]["number"]) == (second, 2)
    assert (earlier["state"], earlier["session_id"]) == (first, name)
    thread = server.thread("saved-states", name)
    assert (thread["id"], thread["status"]) == (two["thread"]["id"], "queued")
    assert server.state(thread["id"]) == second
    assert server.verify(thread["id"])["intact"]


async def test_buckets_are_apart(server: Server) -> None:
    name = str(uuid4())
    async with connected(server.url, server.token) as client:
        await use(client, "save_state", name=name, bucket="left", state={"side": "left"})
        await use(client, "save_state", name=name, bucket="right", state={"side": "right"})
        left = await use(client, "load_state", name=name, bucket="left")
        assert left["state"] == {"side": "left"}
        assert (await refused(client, "load_state", name=name))["status"] == 404


async def test_a_save_after_another_one_is_refused(server: Server) -> None:
    name = str(uuid4())
    async with connected(server.url, server.token) as client:
        await use(client, "save_state", name=name, state={"n": 1}, after=0)
        await use(client, "save_state", name=name, state={"n": 2}, after=1)
        problem = await refused(client, "save_state", name=name, state={"n": 3}, after=1)
        assert (problem["status"], problem["number"]) == (412, 2)
        assert (await use(client, "load_state", name=name))["state"] == {"n": 2}


async def test_a_save_sent_again_under_its_key_is_done_once(server: Server) -> None:
    name = str(uuid4())
    call = {"name": name, "state": {"n": 1}, "idempotency_key": str(uuid4())}
    async with connected(server.url, server.token) as client:
        one, two = [await use(client, "save_state", **call) for _ in range(2)]
        assert one == two
        other = await refused(client, "save_state", **(call | {"state": {"n": 2}}))
        assert other["type"] == "urn:gatepost:problem:key-reused"


async def test_saves_at_once_are_all_kept_one_after_the_other(server: Server) -> None:
    name, n_saves = str(uuid4()), 8
    async with connected(server.url, server.token) as client:
        saves = [use(client, "save_state", name=name, state={"n": n}) for n in range(n_saves)]
        results = await asyncio.gather(*saves)
        numbers = sorted(result["checkpoint"]["number"] for result in results)
        assert numbers == list(range(1, n_saves + 1))
        loaded = [
            (await use(client, "load_state", name=name, number=one["checkpoint"]["number"]))[
                "state"
            ]
            for one in results
        ]
    assert loaded == [{"n": n} for n in range(n_saves)]


async def test_of_saves_after_the_same_one_at_once_one_is_kept(server: Server) -> None:
    name = str(uuid4())
    async with connected(server.url, server.token) as client:
        calls = [
            client.call_tool("save_state", {"name": name, "state": {"n": n}, "after": 0})
            for n in range(6)
        ]
        results = await asyncio.gather(*calls)
        assert sum(not result.is_error for result in results) == 1
        problems = [result.structured_content for result in results if result.is_error]
        assert {problem["status"] for problem in problems} == {412}


async def test_people_pause_and_roll_back_a_saved_state(server: Server) -> None:
    name = str(uuid4())
    async with connected(server.url, server.token) as client:
        for n in (1, 2):
            thread = (await use(client, "save_state", name=name, state={"n": n}))["thread"]["id"]
        server.operator.post(f"/threads/{thread}/pause/", {})
        problem = await refused(client, "save_state", name=name, state={"n": 3})
        assert (problem["status"], problem["thread_status"]) == (409, "paused")
        page = server.operator.get(f"/threads/{thread}/checkpoints/")["results"]
        (first,) = [one["id"] for one in page if one["number"] == 1]
        server.operator.post(
            f"/threads/{thread}/rollback/", {"checkpoint": first, "reason": "the second is wrong"}
        )
        assert (await use(client, "load_state", name=name))["state"] == {"n": 1}
        server.operator.post(f"/threads/{thread}/resume/", {})
        await use(client, "save_state", name=name, state={"n": 4})
        assert (await use(client, "load_state", name=name))["state"] == {"n": 4}
    assert server.verify(thread)["intact"]
