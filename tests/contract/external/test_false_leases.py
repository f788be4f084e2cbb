"""Every call under a lease, with every kind of lease that is none: refused, and nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from django.db import connection

from dashboard.external import leases
from tests.contract.calls import example, send
from tests.contract.example_calls import Call
from tests.contract.operations import Operation, operations
from tests.contract.world import World
from tests.contract.written import everything, taken_back

LEASE = "Gatepost-Lease"
CALLS: list[Operation] = [
    operation
    for operation in operations().values()
    if any(p["name"] == LEASE and p.get("required") for p in operation.spec.get("parameters", ()))
]


def _rewrite(thread: UUID, columns: str) -> None:
    """Change a thread behind its back, as the database's guards would not let anybody."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(f"UPDATE gp_thread SET {columns} WHERE id = %s", (thread,))
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")


def _given_back(world: World, thread: UUID, token: str) -> str:
    _rewrite(thread, "lease_token = NULL, lease_owner = ''")
    return token


def _taken_over(world: World, thread: UUID, token: str) -> str:
    _rewrite(thread, "lease_token = gen_random_uuid(), fence = fence + 1")
    return token


def _of_another_person(world: World, thread: UUID, token: str) -> str:
    _rewrite(thread, "lease_owner = 'user:999999/agent:host-1'")
    return token


def _of_a_worker(world: World, thread: UUID, token: str) -> str:
    _rewrite(thread, "lease_owner = 'worker:1:boot'")
    return token


def _of_another_thread(world: World, thread: UUID, token: str) -> str:
    held = leases.take(world.cast.actor("operator"), world.elsewhere, "host-9", 60)
    return str(held.work.token)


def _made_up(world: World, thread: UUID, token: str) -> str:
    return str(uuid4())


KINDS: dict[str, Callable[[World, UUID, str], str]] = {
    "given-back": _given_back,
    "taken-over": _taken_over,
    "of-another-person": _of_another_person,
    "of-a-worker": _of_a_worker,
    "of-another-thread": _of_another_thread,
    "made-up": _made_up,
}


def _refused(world: World, operation: Operation, call: Call, headers: dict[str, str]) -> None:
    client = world.cast.client("operator")
    before = everything()
    answer = send(client, operation, call, **headers)
    assert answer.status_code == 409, (operation.id, answer.content)
    assert answer.json()["type"] == "urn:gatepost:problem:lease-lost"
    assert everything() == before, operation.id


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(KINDS))
def test_nothing_is_done_under_a_lease_that_is_none(world: World, kind: str) -> None:
    for operation in CALLS:
        with taken_back():
            call = example(world, operation)
            thread = UUID(call.params["thread_id"])
            token = KINDS[kind](world, thread, call.headers[LEASE])
            _refused(world, operation, call, {LEASE: token})
    assert len(CALLS) == 10


def test_an_answer_of_before_is_not_given_to_whoever_lost_the_lease(world: World) -> None:
    """Idempotency-Key answers again, but only under a lease that still holds."""
    for operation in CALLS:
        with taken_back():
            call, key = example(world, operation), {"Idempotency-Key": str(uuid4())}
            client = world.cast.client("operator")
            answer = send(client, operation, call, **key)
            assert answer.status_code == call.status, answer.content
            thread = UUID(call.params["thread_id"])
            _taken_over(world, thread, call.headers[LEASE])
            _refused(world, operation, call, key)


@pytest.mark.parametrize("header", ["", "nonsense", "1" * 36, "null"])
def test_a_header_that_names_no_lease_is_refused(world: World, header: str) -> None:
    client = world.cast.client("operator")
    for operation in CALLS:
        answer = send(client, operation, example(world, operation), **{LEASE: header})
        assert (answer.status_code, answer.json()["path"]) == (400, LEASE), operation.id


def test_a_name_with_the_bar_that_separates_hashed_parts_is_refused(world: World) -> None:
    operation = operations()["external_take"]
    call = example(world, operation)
    before = everything()
    client = world.cast.client("operator")
    answer = send(client, operation, call.but(body=call.body | {"name": "host|1"}))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "$.name"
    assert everything() == before
