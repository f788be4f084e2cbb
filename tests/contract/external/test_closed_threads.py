"""Threads that no agent elsewhere may take: those of the MCP gateway, and watched ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import override_settings

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from checkpoints import queries, store
from dashboard.errors import ActionError
from dashboard.external import observed_threads, saved_states, spans
from dashboard.gateway.calls import Dispatch
from dashboard.identity import tokens
from dashboard.threads.capsules.exports import capsule_of
from dashboard.threads.capsules.imports import import_capsule
from tests.contract.calls import example
from tests.contract.world import World
from tests.contract.written import everything
from workers.external.otlp_wire import ReceivedSpan

from .conftest import driver
from .entry import Driver
from .gateway import ARGS, Gateway
from .test_false_leases import CALLS

pytestmark = pytest.mark.django_db
UNKNOWN = uuid4()


def approved(g: Gateway) -> UUID:
    """A call that people approved; its client has not come back for it yet."""
    thread = g.held()
    g.approve(thread)
    return thread


def undecided(g: Gateway) -> UUID:
    """A call that people are asked about."""
    return g.held()


def at_work(g: Gateway) -> UUID:
    """An approved call whose server has not answered yet."""
    thread = approved(g)
    assert isinstance(g.call(), Dispatch)
    return thread


def lost(g: Gateway) -> UUID:
    """The same, and the gateway's process has ended since."""
    thread = at_work(g)
    _expire(thread)
    return thread


def conversation(g: Gateway) -> UUID:
    """The thread of calls that need nobody."""
    begun = g.call()
    assert isinstance(begun, Dispatch)
    return begun.work.thread


def lost_conversation(g: Gateway) -> UUID:
    """The same, and the gateway's process has ended since."""
    thread = conversation(g)
    _expire(thread)
    return thread


SITUATIONS: tuple[Callable[[Gateway], UUID], ...] = (
    *(undecided, approved, at_work, lost, conversation, lost_conversation),
)


def _expire(thread: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_thread SET lease_until = clock_timestamp() - interval '1 second' "
            "WHERE id = %s",
            (thread,),
        )


def holders(g: Gateway) -> dict[str, Driver]:
    """Everybody who has a token of the scope `work`, the gateway's own client among them."""
    cast = g.cast

    store.grant(cast.workspace, cast.users["auditor"].pk, "operator", actor="user:0")

    def token(name: str) -> str:
        return tokens.make(cast.users[name], made_by="test", scopes=["read", "start", "work"])[1]

    return {
        "its own client": driver(g.token),
        "another token": driver(token("operator")),
        "another person": driver(token("auditor")),
    }


def _lease_of(thread: UUID) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT lease_token FROM gp_thread WHERE id = %s", (thread,))
        (token,) = cursor.fetchone()
    return str(token or UNKNOWN)


@pytest.mark.slow
@pytest.mark.requirement("E02")
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.__name__)
def test_only_the_gateway_takes_its_threads_and_reports_into_them(
    gateway: Gateway, world: World, situation: Callable[[Gateway], UUID]
) -> None:
    """Every call of that API, by everybody with the scope `work`, also with the lease's own token.

    Whoever could take an approved call would answer the gateway's client in the server's place.
    """
    thread = situation(gateway)
    senders = holders(gateway)
    lease, before, outcomes = _lease_of(thread), _contents(), Counter[str]()
    for name, send in senders.items():
        path = f"/threads/{thread}"
        # Nobody takes over until PostgreSQL has been up for one lease.
        with override_settings(GATEPOST_LEASE_SECONDS=1):
            answer = send("POST", f"{path}/lease/", {"name": "host-1", "seconds": 5}, {})
        outcomes[answer.code] += 1
        assert (answer.status, "MCP gateway" in answer.body["detail"]) == (409, True), answer
        for operation in CALLS:
            call = example(world, operation)
            where = operation.path.replace("/api/v1", "").format(
                **call.params | {"thread_id": str(thread)}
            )
            method = operation.method.upper()
            answer = send(method, where, call.body, {"Gatepost-Lease": lease})
            outcomes[answer.code] += 1
            assert answer.status in (404, 409), (name, operation.id, answer)
        step = send("GET", f"{path}/next/", None, {"Gatepost-Lease": lease})
        assert (step.status, step.body["do"]) == (200, "stop"), (name, step)
        assert "MCP gateway" in step.body["reason"]
    assert _contents() == before
    assert outcomes.total() == 3 * (1 + len(CALLS))
    assert outcomes["conflict"] >= outcomes.total() - 3


def _span(conversation: str, agent: str = "mcp:adders") -> ReceivedSpan:
    named = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent,
        "gen_ai.conversation.id": conversation,
    }
    return ReceivedSpan(uuid4().hex, f"{1:016x}", "", "x", 10**18, 10**18 + 1, named, "svc")


def _contents() -> dict[str, str]:
    """All tables but what tokens leave behind by being used."""
    return {name: rows for name, rows in everything().items() if "token" not in name}


def test_a_name_of_the_gateway_is_of_use_to_nobody_else(gateway: Gateway, tmp_path: Path) -> None:
    """A state that is saved, a span, a capsule: none of them leads into its threads."""
    cast, operator = gateway.cast, gateway.cast.actor("operator")
    thread = approved(gateway)
    row = queries.thread(thread, workspace=cast.workspace)
    assert row.name is not None
    following = f"{row.name[:-1]}2"
    before = _contents()
    for name in (row.name, following):
        with pytest.raises(ActionError):
            saved_states.save_state(operator, name, {"n": 1}, bucket="mcp:adders")
        with pytest.raises(ActionError):
            observed_threads.keep_state(
                operator, agent="mcp:adders", name=name, state={"n": 1}, framework="x"
            )
    assert _contents() == before

    watched = spans.take_spans(operator, [_span(following)])
    assert thread not in watched
    agents = {queries.thread(one, workspace=cast.workspace).agent for one in watched}
    assert agents == {"OpenTelemetry mcp:adders"}

    file = tmp_path / "one.zip"
    with closing(capsule_of(row, queries.checkpoint(thread, row.head))) as capsule:
        file.write_bytes(b"".join(capsule.chunks()))
    imported = import_capsule(operator, file, name=following).thread
    assert imported != thread
    assert queries.thread(imported, workspace=cast.workspace).name is None

    begun = gateway.call()
    assert isinstance(begun, Dispatch)
    assert (begun.work.thread, begun.args) == (thread, ARGS)


def test_a_watched_thread_is_taken_by_no_agent(gateway: Gateway) -> None:
    """It would go on under the policies' eyes: nothing stops a watched agent before a node."""
    cast = gateway.cast
    policies.make(cast.workspace, Draft("Paying", "node == 'pay'"), actor="user:0")
    seen = observed_threads.keep_state(
        cast.actor("operator"), agent="payer", name="order-7", state={"n": 1}, framework="x"
    )
    (by_spans,) = spans.take_spans(cast.actor("operator"), [_span("order-8", agent="payer")])
    for thread in (seen.thread, by_spans):
        send = holders(gateway)["another token"]
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute("UPDATE gp_thread SET status = 'queued' WHERE id = %s", (thread,))
            cursor.execute("SET LOCAL session_replication_role = DEFAULT")
        before = _contents()
        answer = send("POST", f"/threads/{thread}/lease/", {"name": "host-1"}, {})
        assert (answer.status, answer.code) == (409, "conflict")
        assert "watched, not controlled" in answer.body["detail"]
        step = send("GET", f"/threads/{thread}/next/", None, {})
        assert (step.body["do"], "watched" in step.body["reason"]) == ("stop", True)
        assert _contents() == before
