"""`signal` of the Python client: by id and by name, once however often it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth import get_user_model

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from checkpoints import queries, store
from dashboard.identity import tokens
from gatepost_client import Refused, Settings, aio, signal
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import waits
from workers.code.registry import announce

from .bench import Server

pytestmark = [pytest.mark.slow, pytest.mark.requirement("F10")]  # starts a server


def in_a_loop(*args: Any, **kwargs: Any) -> Any:
    return asyncio.run(aio.signal(*args, **kwargs))


def settings_of(server: Server, *scopes: str) -> Settings:
    user = get_user_model().objects.get(username="operator")
    return Settings(server.url, tokens.make(user, made_by="user:0", scopes=[*scopes])[1])


def waiting(bench: Bench, name: str) -> UUID:
    """A thread of this name that waits for its payment."""
    thread = store.start(
        bench.agent.version_id,
        input={},
        workspace=bench.workspace,
        actor="user:1",
        title="Order",
        name=name,
    )
    assert bench.advance(thread).status == "waiting"
    return thread


@pytest.mark.parametrize("send", [signal, in_a_loop], ids=["sync", "async"])
def test_it_reaches_the_wait_by_id_and_by_name(server: Server, send: Callable[..., Any]) -> None:
    bench = Bench(announce(waits.graph, {}, [waits]), queries.default_workspace())
    name = f"order-{uuid4()}"
    thread = waiting(bench, name)
    own = settings_of(server, "signal")
    send(str(thread), "payment.settled", {"amount": 1}, settings=own)
    assert bench.row(thread).status == "queued"
    send(name, "payment.settled", 2, agent="waits", settings=own)
    bench.advance(thread)
    notes = bench.state(thread)["notes"]
    assert [note.partition(" by ")[0] for note in notes] == ["paid {'amount': 1}", "more 2"]

    for settings, target, status in (
        (own, str(thread), 409),  # it has ended
        (own, str(uuid4()), 404),
        (settings_of(server, "read", "start"), str(thread), 403),
    ):
        with pytest.raises(Refused) as refusal:
            send(target, "payment.settled", 3, settings=settings)
        assert refusal.value.status == status


def test_what_waits_for_a_second_person_is_not_taken_for_sent(server: Server) -> None:
    bench = Bench(announce(waits.graph, {}, [waits]), queries.default_workspace())
    policy = policies.make(bench.workspace, Draft("Two", "operation == 'signal'"), actor="user:9")
    name = f"order-{uuid4()}"
    thread, by_person = waiting(bench, name), settings_of(server, "signal", "control")
    try:
        for target, agent in ((str(thread), ""), (name, "waits")):
            with pytest.raises(Refused, match="needs a second person") as refusal:
                signal(target, "payment.settled", 3, agent=agent, settings=by_person)
            assert refusal.value.status == 202
        assert queries.waiting_signals(thread) == []
        signal(str(thread), "payment.settled", 3, settings=settings_of(server, "signal"))
        assert [row.value for row in queries.waiting_signals(thread)] == [3]
    finally:
        policies.switch(policy.policy, False, workspace=bench.workspace, actor="user:9")
