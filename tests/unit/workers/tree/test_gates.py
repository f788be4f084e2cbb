"""A child's request says on whose behalf it asks, and that is sealed; deciding wakes that child."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.urls import reverse

from approvals import gates
from approvals import queries as approval_queries
from approvals.gates import proposal_hash
from approvals.queries import ApprovalRow
from checkpoints import store
from checkpoints.chain import verify_thread
from checkpoints.records import Position
from tests.support.reviewers import reviewer_in
from workers.testing.harness import Harness

from . import agents
from .agents import clerk
from .conftest import Fleet


@pytest.fixture(autouse=True)
def fresh() -> None:
    agents.paid.clear()


def tree(fleet: Fleet, root: UUID) -> list[UUID]:
    """A thread, its child, the child of that."""
    line = [root]
    while below := fleet.children(line[-1]):
        line += below
    return line


def request_of(thread: UUID) -> ApprovalRow:
    (row,) = approval_queries.for_thread(thread, open_only=True)
    return row


def approve(fleet: Fleet, row: ApprovalRow) -> None:
    gates.decide(
        row.id,
        workspace=fleet.workspace,
        reviewer=reviewer_in(fleet.workspace),
        verdict="approve",
        proposal_hash=row.proposal_hash,
    )


def hash_of(row: ApprovalRow) -> str:
    return proposal_hash(
        workspace=row.workspace,
        thread=row.thread,
        position=Position(row.branch, row.step, row.node, row.index, row.key),
        tool=row.tool,
        args=row.args,
        agent_version=row.agent_version_id,
        policy_version=row.policy_version,
        deadline=row.deadline,
        origin=row.origin,
    )


def test_a_request_names_its_parents_and_wakes_only_its_child(fleet: Fleet) -> None:
    root = fleet.start("clerk", to="Ada", depth=2)
    fleet.work()
    top, middle, bottom = tree(fleet, root)
    row = request_of(bottom)
    assert row.origin == [
        {"thread": str(top), "agent": "clerk", "title": "A test"},
        {"thread": str(middle), "agent": "clerk", "title": "level 1"},
    ]
    assert hash_of(row) == row.proposal_hash
    for origin in (None, row.origin[:1], [{**row.origin[0], "title": "x"}, row.origin[1]]):
        assert hash_of(replace(row, origin=origin)) != row.proposal_hash
    approve(fleet, row)
    assert fleet.queued() == [bottom]
    fleet.work()
    assert fleet.state(root)["receipt"] == "paid Ada"
    assert len(agents.paid) == 1
    fleet.verify()


def test_a_request_of_a_root_is_sealed_as_before(fleet: Fleet) -> None:
    root = fleet.start("clerk", to="Ada", depth=0)
    fleet.work()
    row = request_of(root)
    assert row.origin is None
    approve(fleet, row)
    fleet.work()
    assert fleet.row(root).status == "succeeded"


@pytest.mark.altered
def test_an_altered_origin_is_found(fleet: Fleet) -> None:
    root = fleet.start("clerk", to="Ada", depth=1)
    fleet.work()
    bottom = tree(fleet, root)[-1]
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(
            "UPDATE gp_approval SET origin = '[]' WHERE id = %s", (request_of(bottom).id,)
        )
        cursor.execute("SET session_replication_role = DEFAULT")
    assert not verify_thread(bottom, event_checks=fleet.event_checks).intact


def test_a_harness_asks_on_behalf_of_parents() -> None:
    thread = Harness(clerk).play({"to": "Ada", "depth": 1})
    (child,) = thread.children
    (row,) = child.open
    assert row.origin == [{"thread": str(thread.id), "agent": "clerk", "title": "clerk"}]
    child.decide("approve")
    thread.go_on()
    assert thread.state["receipt"] == "paid Ada"


def test_page_and_api_say_on_whose_behalf_a_child_asks(fleet: Fleet) -> None:
    root = fleet.start("clerk", to="Ada", depth=1)
    fleet.work()
    row = request_of(tree(fleet, root)[-1])
    user = get_user_model().objects.create_user("reader")
    store.grant(fleet.workspace, user.pk, "reviewer", actor="user:0")
    client = Client()
    client.force_login(user, "dashboard.identity.backends.Passwords")
    page = client.get(reverse("approval", args=[row.id]))
    assert page.status_code == 200
    text = " ".join(page.content.decode().split())
    assert "It asks on behalf of" in text
    assert f'href="{reverse("thread", args=[root])}"' in text
    answer = client.get(reverse("api:approval", args=[row.id]))
    assert answer.json()["origin"] == row.origin
