"""Every way to a decision, times every way to begin an effect: only live decisions on its bytes do.

Generated: each attempt is made after each history of a request. What is not the decided bytes, at
their place, by the holder of the thread's lease, while the decision lives, starts nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test import override_settings

from approvals import gates
from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.rules.terms import Seat, Terms
from approvals.verification.proof import verify
from checkpoints import queries, store
from dashboard.identity import tokens
from dashboard.threads.edit import edit
from dashboard.threads.fork import fork as fork_thread
from dashboard.threads.pause import RESUME, Resume
from tests.support.cast import Cast

from .conftest import driver
from .entry import Agent, Answer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
GATE = {"title": "Charge the card"}
ARGS = {"cents": 100}
BODY = {"node": "work", "key": "charge#0", "kind": "effect", "tool": "charge"}


def begin(a: Agent, **more: Any) -> Answer:
    """A begin, whatever it is answered."""
    return a.call("POST", "activities/begin/", {**BODY, "args": ARGS, "gate": GATE, **more})


# ---- how the request went ------------------------------------------------------------------------


def nobody_decided(a: Agent, cast: Cast) -> None:
    """It is still open."""


def approved(a: Agent, cast: Cast) -> None:
    a.decide()


def approved_with_other_arguments(a: Agent, cast: Cast) -> None:
    a.decide("edit", args={"cents": 50}, comment="half")


def rejected(a: Agent, cast: Cast) -> None:
    a.decide("reject", comment="no")


def expired(a: Agent, cast: Cast) -> None:
    _by_hand("deadline = clock_timestamp() - interval '1 second'", a)
    assert gates.expire_due() >= 1


def withdrawn_by_an_edit(a: Agent, cast: Cast) -> None:
    edit(cast.actor("operator"), UUID(a.thread), {"n": 9}, "other")


def approved_then_stricter(a: Agent, cast: Cast) -> None:
    a.decide()
    two = Terms(stages=(Seat(people=("manager",)), Seat(people=("operator",))))
    policies.make(cast.workspace, Draft("Two", "tool == 'charge'", terms=two), actor="user:0")


def approved_by_somebody_who_lost_the_right(a: Agent, cast: Cast) -> None:
    a.decide()
    store.withdraw(cast.workspace, cast.users["manager"].pk, "reviewer", actor="user:0")


def approved_long_ago(a: Agent, cast: Cast) -> None:
    a.decide()
    _by_hand(
        "decided_at = decided_at - interval '2 days', "
        "effective_at = effective_at - interval '2 days'",
        a,
    )


HISTORIES: tuple[Callable[[Agent, Cast], None], ...] = (
    *(nobody_decided, approved, approved_with_other_arguments, rejected, expired),
    *(withdrawn_by_an_edit, approved_then_stricter, approved_by_somebody_who_lost_the_right),
    approved_long_ago,
)
LIVE = {"approved": {"cents": 100}, "approved_with_other_arguments": {"cents": 50}}
# What people decided long ago was written by hand: no record of it is intact.
BY_HAND = {"expired", "approved_long_ago"}


def _by_hand(change: str, a: Agent) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(f"UPDATE gp_approval SET {change} WHERE thread_id = %s", (a.thread,))
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")


# ---- what is then tried --------------------------------------------------------------------------


def as_it_was_asked(a: Agent, cast: Cast) -> list[Answer]:
    return [begin(a)]


def edited_arguments(a: Agent, cast: Cast) -> list[Answer]:
    other = [{"cents": 101}, {"cents": "100"}, {"cents": 100, "to": "me"}, {}, {"cents": [100]}]
    return [begin(a, args=args) for args in other]


def other_places(a: Agent, cast: Cast) -> list[Answer]:
    places = [{"key": "charge#1"}, {"node": "other"}, {"index": 1}, {"tool": "transfer"}]
    return [begin(a, **position) for position in places]


def the_decided_arguments_as_their_own(a: Agent, cast: Cast) -> list[Answer]:
    """What a reviewer made of it, sent as if the agent had asked for that."""
    return [begin(a, args={"cents": 50})]


def another_thread(a: Agent, cast: Cast) -> list[Answer]:
    other = Agent(a.send, a.people, a.agent)
    other.start(input={"n": 0})
    other.take()
    return [
        begin(other),
        a.send("POST", f"/threads/{other.thread}/activities/begin/", BODY, _of(a)),
    ]


def another_workspace(a: Agent, cast: Cast) -> list[Answer]:
    stranger = tokens.make(
        cast.users["stranger"], made_by="test", scopes=["read", "start", "work"]
    )[1]
    path = f"/threads/{a.thread}/activities/begin/"
    return [driver(stranger)("POST", path, {**BODY, "args": ARGS}, _of(a))]


def the_lease_of_before(a: Agent, cast: Cast) -> list[Answer]:
    a.call("POST", "lease/release/", {"as": "queued"})
    return [begin(a), begin(a, step=1)]


def a_lease_that_another_took_over(a: Agent, cast: Cast) -> list[Answer]:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_thread SET lease_until = clock_timestamp() - interval '1 second' "
            "WHERE id = %s AND lease_token IS NOT NULL",
            (a.thread,),
        )
    other = Agent(a.send, a.people, a.agent, name="host-2", thread=a.thread)
    # Nobody takes over until PostgreSQL has been up for one lease; that of a single file has not.
    with override_settings(GATEPOST_LEASE_SECONDS=1):
        other.call("POST", "lease/", {"name": "host-2"})
    return [begin(a)]


def a_made_up_lease(a: Agent, cast: Cast) -> list[Answer]:
    a.lease = str(UUID(int=UUID(a.lease).int ^ 1))
    return [begin(a)]


def a_token_that_was_revoked(a: Agent, cast: Cast) -> list[Answer]:
    row, token = tokens.make(cast.users["operator"], made_by="test", scopes=["start", "work"])
    tokens.revoke(row.prefix, by="test")
    revoked = Agent(driver(token), a.people, a.agent, thread=a.thread, lease=a.lease)
    return [begin(revoked)]


def a_token_that_may_not_work(a: Agent, cast: Cast) -> list[Answer]:
    token = tokens.make(cast.users["operator"], made_by="test", scopes=["read", "start"])[1]
    return [begin(Agent(driver(token), a.people, a.agent, thread=a.thread, lease=a.lease))]


def another_person(a: Agent, cast: Cast) -> list[Answer]:
    """With the lease of the agent, and the right to work."""
    store.grant(cast.workspace, cast.users["auditor"].pk, "operator", actor="user:0")
    token = tokens.make(cast.users["auditor"], made_by="test", scopes=["start", "work"])[1]
    return [begin(Agent(driver(token), a.people, a.agent, thread=a.thread, lease=a.lease))]


def a_forged_state(a: Agent, cast: Cast) -> list[Answer]:
    """A step whose state says that it was approved and done; then the call."""
    state = {"approved": True, "charge#0": {"state": "done"}, "n": 0}
    a.call("POST", "checkpoints/", {"step": 1, "state": state})
    return [begin(a), begin(a, step=1), begin(a, step=2)]


def an_old_snapshot(a: Agent, cast: Cast) -> list[Answer]:
    """The agent begins again from an earlier checkpoint of its own."""
    first = str(queries.checkpoint_by_number(UUID(a.thread), 0).id)
    a.call("POST", "checkpoints/", {"step": 1, "delta": {"set": {"n": 1}}})
    a.call("POST", "checkpoints/", {"parent": first, "delta": {"set": {"n": 2}}})
    return [begin(a), begin(a, step=1)]


def in_a_fork(a: Agent, cast: Cast) -> list[Answer]:
    store.grant(cast.workspace, cast.users["second_manager"].pk, "operator", actor="user:0")
    head = queries.thread(UUID(a.thread), workspace=cast.workspace).head
    fork = fork_thread(cast.actor("second_manager"), UUID(a.thread), head)
    other = Agent(a.send, a.people, a.agent, thread=str(fork))
    other.take()
    return [begin(other), begin(other, gate=None)]


def once_more_under_its_key(a: Agent, cast: Cast) -> list[Answer]:
    """Another body under the key of a begin that was answered before."""
    first = {**BODY, "args": {"cents": 1}, "key": "look#0", "kind": "activity", "tool": "look"}
    a.call("POST", "activities/begin/", first, Idempotency_Key="mine")
    body = {**BODY, "args": ARGS, "gate": GATE}
    return [a.call("POST", "activities/begin/", body, Idempotency_Key="mine")]


ATTEMPTS: tuple[Callable[[Agent, Cast], list[Answer]], ...] = (
    *(as_it_was_asked, edited_arguments, other_places, the_decided_arguments_as_their_own),
    *(another_thread, another_workspace, the_lease_of_before, a_lease_that_another_took_over),
    *(a_made_up_lease, a_token_that_was_revoked, a_token_that_may_not_work, another_person),
    *(a_forged_state, an_old_snapshot, in_a_fork, once_more_under_its_key),
)


def _of(a: Agent) -> dict[str, str]:
    return {"Gatepost-Lease": a.lease}


def _prepared(
    agent: Agent, cast: Cast, history: Callable[[Agent, Cast], None]
) -> tuple[Agent, bool]:
    """An agent whose request has gone this history; whether it could take the thread again."""
    a = Agent(agent.send, agent.people)
    a.start(input={"n": 0}, tools={"charge": {}, "look": {"effect": False}})
    a.take()
    assert begin(a).body["do"] == "wait"
    history(a, cast)
    if queries.thread(UUID(a.thread), workspace=cast.workspace).status == "paused":
        RESUME.run(cast.actor("operator"), Resume(), UUID(a.thread))
    taken = a.call("POST", "lease/", {"name": a.name, "seconds": 60})
    if taken.status == 200:
        a.lease = taken.body["token"]
    return a, taken.status == 200


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.__name__)
def test_no_effect_starts_without_a_live_decision_on_exactly_its_bytes(
    agent: Agent, cast: Cast, history: Callable[[Agent, Cast], None]
) -> None:
    outcomes: Counter[str] = Counter()
    started: list[tuple[str, Any]] = []
    for attempt in ATTEMPTS:
        with transaction.atomic():
            a, taken = _prepared(agent, cast, history)
            assert taken == (history is not nobody_decided)
            for answer in attempt(a, cast):
                refused = answer.status >= 400
                outcomes["refused" if refused else answer.body["do"]] += 1
                assert answer.status < 500, (attempt.__name__, answer)
                if not refused and answer.body["do"] == "call":
                    started.append((attempt.__name__, answer.body["args"]))
            begun = [x.args for x in queries.activities(UUID(a.thread)) if x.kind == "effect"]
            expected = [args for name, args in started if name == attempt.__name__]
            assert begun == expected, attempt.__name__
            if history.__name__ not in BY_HAND:
                assert verify(UUID(a.thread)).intact, attempt.__name__
            transaction.set_rollback(True)
    # The one that may begin did: the sweep cannot pass by doing nothing.
    live = LIVE.get(history.__name__)
    assert started == ([("as_it_was_asked", live)] if live else [])
    assert sum(outcomes.values()) >= 24
    assert outcomes["refused"] >= 7


def test_a_begin_is_answered_once_however_often_it_is_sent(agent: Agent, cast: Cast) -> None:
    """Replayed under its key it is answered as before; under none it stops for a person."""
    counts: Counter[str] = Counter()
    for replay in ("with the key", "without a key"):
        a, taken = _prepared(agent, cast, approved)
        assert taken
        key = {"Idempotency_Key": replay.replace(" ", "-")} if "with the" in replay else {}
        body = {**BODY, "args": ARGS, "gate": GATE}
        answers = [a.call("POST", "activities/begin/", body, **key) for _ in range(3)]
        counts[replay] = sum(x.status == 200 and x.body["do"] == "call" for x in answers)
        records = [x for x in queries.activities(UUID(a.thread)) if x.kind == "effect"]
        assert len(records) == 1
        assert len({x.body["idempotency_key"] for x in answers if x.status == 200} - {""}) == 1
    assert counts == {"with the key": 3, "without a key": 1}


def test_an_approval_that_expires_while_the_agent_sleeps(agent: Agent, cast: Cast) -> None:
    a = Agent(agent.send, agent.people)
    a.start()
    a.take()
    begun = begin(a, gate=GATE | {"expires_in": 0.05})
    assert begun.body["do"] == "wait"
    time.sleep(0.1)
    assert gates.expire_due() >= 1
    a.take()
    answer = begin(a, gate=GATE | {"expires_in": 0.05})
    assert (answer.body["do"], answer.body["reason"]) == ("refused", "Nobody decided in time.")
