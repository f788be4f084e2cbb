"""Every way to a decision, times every way to call a tool through the gateway.

Generated, as the sweep over that API: what is not exactly the decided call, by a token that asked
for it, while the decision lives, never reaches the server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from approvals import gates
from approvals import queries as requests
from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.rules.terms import Seat, Terms
from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.errors import NotFound
from dashboard.administration.policies import edit_policy
from dashboard.errors import ActionError
from dashboard.gateway import calls, tasks
from dashboard.gateway.calls import Dispatch, Ended
from dashboard.gateway.conversations import Client, Conversations, Stopped
from dashboard.gateway.registry import changes
from dashboard.gateway.registry.changes import Wanted
from dashboard.identity import tokens
from dashboard.identity.permissions import actor_of
from dashboard.threads.start import start_thread
from tests.support import decisions
from tests.unit.dashboard.gateway import listing
from tests.unit.dashboard.gateway.servers import (
    accept_mcp_tools,
    add_mcp_server,
    list_mcp_tools,
    set_mcp_tool_mode,
)
from workers.external.announcement import Announcement

from .gateway import ARGS, Gateway

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
type Tried = list[calls.Begin | str]
EDITED = {"a": 50}
# An agent that says of itself that it is the gateway.
ANNOUNCED = Announcement(framework="MCP gateway", nodes=("call",))


def call(g: Gateway, client: Client | None = None, args: Any = None, tool: str = "add") -> Any:
    """What the gateway makes of a call: something that begins, waits or has ended, or a refusal."""
    client = client or g.client
    try:
        made = calls.checked(client, tool, ARGS if args is None else args)
        if isinstance(made, Ended):
            return made
        return calls.begin(Conversations(), made, plain=True, listed=True)
    except (Stopped, ActionError, NotFound) as refusal:
        return type(refusal).__name__


def poll(g: Gateway, task: str, client: Client | None = None) -> Any:
    """What the gateway makes of a look at a task."""
    try:
        acted = tasks.act(client or g.client, "tasks/get", task, listed=True)
    except (Stopped, ActionError, NotFound) as refusal:
        return type(refusal).__name__
    return acted.dispatch or acted.result["status"]


def other_client(g: Gateway, name: str = "operator", **more: Any) -> Client:
    """A client with another token."""
    token = tokens.make(g.cast.users[name], made_by="test", scopes=["work"], **more)[1]
    return replace(g.client, actor=actor_of(*tokens.presented(token)))


# ---- how the request went ------------------------------------------------------------------------


def _decide(g: Gateway, thread: UUID, verdict: str = "approve", **more: Any) -> None:
    (one,) = requests.for_thread(thread, open_only=True)
    manager = g.cast.actor("manager")
    decisions.decide(manager, one.id, verdict, proposal_hash=one.proposal_hash, **more)


def nobody_decided(g: Gateway, thread: UUID) -> None:
    """It is still open."""


def approved(g: Gateway, thread: UUID) -> None:
    _decide(g, thread)


def approved_with_other_arguments(g: Gateway, thread: UUID) -> None:
    _decide(g, thread, "edit", args=EDITED, comment="half")


def rejected(g: Gateway, thread: UUID) -> None:
    _decide(g, thread, "reject", comment="no")


def expired(g: Gateway, thread: UUID) -> None:
    _by_hand(thread, "deadline = clock_timestamp() - interval '1 second'")
    assert gates.expire_due() >= 1


def withdrawn_by_the_agent(g: Gateway, thread: UUID) -> None:
    tasks.act(g.client, "tasks/cancel", str(thread))


def approved_then_stricter(g: Gateway, thread: UUID) -> None:
    _decide(g, thread)
    two = Terms(stages=(Seat(people=("manager",)), Seat(people=("operator",))))
    made = policies.make(g.cast.workspace, Draft("Two", "tool == 'add'", terms=two), actor="user:0")
    edit_policy(g.cast.actor("admin"), made.policy, position=1)  # before the one that asked


def approved_by_somebody_who_lost_the_right(g: Gateway, thread: UUID) -> None:
    _decide(g, thread)
    manager = g.cast.users["manager"].pk
    store.withdraw(g.cast.workspace, manager, "reviewer", actor="user:0")


def approved_long_ago(g: Gateway, thread: UUID) -> None:
    _decide(g, thread)
    _by_hand(
        thread,
        "decided_at = decided_at - interval '2 days', "
        "effective_at = effective_at - interval '2 days'",
    )


def approved_then_another_tool(g: Gateway, thread: UUID) -> None:
    _decide(g, thread)
    changed = {**listing.TOOL, "description": "Add, and send a copy."}
    changes.note_listed(g.client.server, [changed], actor="user:0")
    accept_mcp_tools(g.cast.actor("admin"), g.client.server.id, None)


def approved_then_forbidden(g: Gateway, thread: UUID) -> None:
    _decide(g, thread)
    admin = g.cast.actor("admin")
    set_mcp_tool_mode(admin, g.client.server.id, "add", "refuse")


def approved_then_consumed(g: Gateway, thread: UUID) -> None:
    _decide(g, thread)
    begun = call(g)
    assert isinstance(begun, Dispatch)
    assert calls.settle(g.conversations, begun, "done", result={"content": []}, error="")


HISTORIES: tuple[Callable[[Gateway, UUID], None], ...] = (
    *(nobody_decided, approved, approved_with_other_arguments, rejected, expired),
    *(withdrawn_by_the_agent, approved_then_stricter, approved_by_somebody_who_lost_the_right),
    *(approved_long_ago, approved_then_another_tool, approved_then_forbidden),
    approved_then_consumed,
)
LIVE: Mapping[str, Any] = {"approved": ARGS, "approved_with_other_arguments": EDITED}
BY_HAND = {"expired", "approved_long_ago"}


def _by_hand(thread: UUID, change: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(f"UPDATE gp_approval SET {change} WHERE thread_id = %s", (thread,))
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")


# ---- what is then tried --------------------------------------------------------------------------


def the_same_call(g: Gateway, thread: UUID) -> Tried:
    """Three times: what begins once does not begin again."""
    return [call(g) for _ in range(3)]


def a_look_at_its_task(g: Gateway, thread: UUID) -> Tried:
    return [poll(g, str(thread)) for _ in range(3)]


def edited_arguments(g: Gateway, thread: UUID) -> Tried:
    other: list[Any] = [{"a": 2}, {"a": "1"}, {"a": 1, "b": 1}, {}, {"a": [1]}, {"A": 1}]
    return [call(g, args=args) for args in other]


def the_decided_arguments_as_its_own(g: Gateway, thread: UUID) -> Tried:
    """What a reviewer made of it, sent as if the agent had asked for that."""
    return [call(g, args=EDITED)]


def another_token_of_the_same_person(g: Gateway, thread: UUID) -> Tried:
    other = other_client(g)
    return [call(g, other), poll(g, str(thread), other)]


def another_person(g: Gateway, thread: UUID) -> Tried:
    store.grant(g.cast.workspace, g.cast.users["auditor"].pk, "operator", actor="user:0")
    other = other_client(g, "auditor")
    return [call(g, other), poll(g, str(thread), other)]


def another_conversation(g: Gateway, thread: UUID) -> Tried:
    return [call(g, replace(g.client, conversation="b"))]


def another_server(g: Gateway, thread: UUID) -> Tried:
    """One that lists the very same tool."""
    admin = g.cast.actor("admin")
    row = add_mcp_server(admin, "others", Wanted(url=listing.address()))
    list_mcp_tools(admin, row.id)
    accept_mcp_tools(admin, row.id, None)
    other = replace(g.client, server=row)
    return [call(g, other), poll(g, str(thread), other)]


def another_tool(g: Gateway, thread: UUID) -> Tried:
    return [call(g, tool=name) for name in ("Add", "add ", "subtract", "")]


def forged_tasks(g: Gateway, thread: UUID) -> Tried:
    text = str(thread)
    forged = [str(uuid4()), text.upper(), f"{text} ", text.replace("-", ""), "", "../x", text[:-1]]
    return [poll(g, one) for one in forged if one != text]


def a_thread_made_to_look_like_it(g: Gateway, thread: UUID) -> Tried:
    """A state that says that it was approved, in a thread of an agent of one's own."""
    state = queries.state_at(thread, queries.checkpoint_by_number(thread, 0).id)
    starting, forged = replace(g.client.actor, grant=None), {**state, "approved": True}
    started = []
    for agent in ("mcp:adders", "mcp-adders"):
        try:
            started.append(start_thread(starting, agent=agent, input=forged, external=ANNOUNCED))
        except ActionError:
            continue
    assert len(started) == 1
    return [poll(g, str(one)) for one in started]


ATTEMPTS: tuple[Callable[[Gateway, UUID], Tried], ...] = (
    *(the_same_call, a_look_at_its_task, edited_arguments, the_decided_arguments_as_its_own),
    *(another_token_of_the_same_person, another_person, another_conversation, another_server),
    *(another_tool, forged_tasks, a_thread_made_to_look_like_it),
)
BEGINS = {"the_same_call", "a_look_at_its_task"}


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.__name__)
def test_no_call_reaches_the_server_without_a_live_decision_on_it(
    gateway: Gateway, history: Callable[[Gateway, UUID], None]
) -> None:
    outcomes: Counter[str] = Counter()
    for attempt in ATTEMPTS:
        with transaction.atomic():
            thread = gateway.held()
            history(gateway, thread)
            tried = attempt(gateway, thread)
            begun = [one for one in tried if isinstance(one, Dispatch)]
            outcomes.update(one if isinstance(one, str) else type(one).__name__ for one in tried)
            live = LIVE.get(history.__name__) if attempt.__name__ in BEGINS else None
            assert [one.args for one in begun] == ([live] if live else []), attempt.__name__
            assert all(one.work.thread == thread for one in begun)
            effects = [x.args for x in queries.activities(thread) if x.kind == "effect"]
            consumed = [ARGS] if history is approved_then_consumed else []
            assert effects == consumed + [one.args for one in begun], attempt.__name__
            if history.__name__ not in BY_HAND:
                assert verify(thread).intact, attempt.__name__
            transaction.set_rollback(True)
    assert outcomes.total() >= 30
    # The ones that may begin did: the sweep cannot pass by doing nothing.
    assert outcomes["Dispatch"] == (len(BEGINS) if history.__name__ in LIVE else 0)


def test_the_sweep_is_as_wide_as_it_says() -> None:
    assert (len(HISTORIES), len(ATTEMPTS)) == (12, 11)
