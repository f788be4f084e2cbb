"""What came with a capsule names people of another installation, never somebody of this one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.urls import reverse

from approvals import gates
from approvals import queries as approval_queries
from approvals.verification.proof import verify
from checkpoints import queries, store
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.carried import brought, empty, export
from tests.unit.dashboard.threads.test_commands import output_of

pytestmark = pytest.mark.django_db

# Who has the ids here that somebody else had there.
HERE = ("Ada Here", "Mira Here")
ELSEWHERE = "of another installation"


@dataclass
class Brought:
    """A thread that two people worked on there; `stranger` imported it and sent it on here."""

    cast: Cast
    thread: UUID
    approval: UUID
    ids: tuple[int, int]
    last: int

    def page(self, address: str) -> str:
        answer = self.cast.client("stranger").get(address)
        assert answer.status_code == 200, (address, answer.status_code)
        text: str = answer.content.decode()
        for name in HERE:
            assert name not in text, (address, name)
        return text

    def api(self, path: str) -> Any:
        return json.loads(self.page(f"/api/v1/{path}"))


@pytest.fixture
def there(cast: Cast, tmp_path: Path) -> Brought:
    starter, reviewer = cast.users["operator"], cast.users["manager"]
    work = scene.lease(
        scene.start(cast.workspace, scene.make_agent(), by=f"user:{starter.pk}/token:k3x9mq2p")
    )
    scene.step(work, report="draft")
    request = scene.gate(work)
    store.edit(work.thread, changes={"limit": 5}, reason="less", actor=f"user:{starter.pk}")
    gates.decide(
        request.id,
        workspace=cast.workspace,
        reviewer=gates.Reviewer(f"user:{reviewer.pk}", "Grace There"),
        verdict="approve",
        proposal_hash=request.proposal_hash,
        comment="fine",
    )
    row = queries.thread(work.thread, workspace=cast.workspace)
    capsule = export(row.id, tmp_path, who="operator")
    empty(agents=False)
    # The ids mean somebody else now.
    for user, name in zip((starter, reviewer), HERE, strict=True):
        user.first_name, user.last_name = name.split()
        user.save()
    brought(capsule, who="stranger")
    store.edit(row.id, changes={"limit": 6}, reason="", actor=cast.actor("stranger").id)
    return Brought(cast, row.id, request.id, (starter.pk, reviewer.pk), row.last_seq)


def test_the_thread_s_row_says_where_the_brought_past_ends(there: Brought) -> None:
    row = queries.thread(there.thread, workspace=there.cast.elsewhere)
    assert (row.imported_seq, row.imported_number) == (there.last, row.number - 1)
    events = queries.events_after(there.thread, 0)
    assert [e.imported for e in events] == [e.seq <= there.last for e in events]
    kinds = [e.kind for e in events if not e.imported]
    assert kinds == ["thread.imported", "state.edited", "checkpoint.committed"]
    points = queries.checkpoints(there.thread).rows
    assert [p.imported for p in points] == [False] + [True] * (len(points) - 1)
    assert verify(there.thread).intact, verify(there.thread).what


def test_pages_name_no_one_of_here(there: Brought) -> None:
    starter, reviewer = there.ids
    page = there.page(reverse("thread", args=[there.thread]))
    assert f"user {starter} (token k3x9mq2p) {ELSEWHERE} started" in page
    assert f"user {reviewer} {ELSEWHERE} approved" in page
    assert "stranger imported the thread" in page
    assert "stranger edited limit" in page
    for seq in range(1, there.last + 1):
        there.page(f"{reverse('thread', args=[there.thread])}?event={seq}")
    there.page(reverse("board"))
    said_by = f"user {reviewer} {ELSEWHERE}, Grace There says the capsule"
    assert said_by in there.page(reverse("approval", args=[there.approval]))
    assert said_by in there.page(f"{reverse('approvals')}?box=decided")


def test_the_api_marks_what_came_with_a_capsule(there: Brought) -> None:
    events = there.api(f"threads/{there.thread}/events/")["results"]
    assert {e["imported"] for e in events if e["seq"] <= there.last} == {True}
    assert {e["imported"] for e in events if e["seq"] > there.last} == {False}
    points = there.api(f"threads/{there.thread}/checkpoints/")["results"]
    assert [p["imported"] for p in points] == [False] + [True] * (len(points) - 1)
    assert there.api(f"approvals/{there.approval}/")["imported"] is True


def test_commands_name_no_one_of_here(there: Brought) -> None:
    starter, reviewer = there.ids
    payload = output_of("threads", "events", str(there.thread), "--as", "stranger")
    assert f"user {starter} {ELSEWHERE} edited limit" in payload
    shown = output_of("approve", str(there.approval), "--as", "stranger")
    assert f"user {reviewer} {ELSEWHERE}, Grace There says the capsule" in shown
    for name in HERE:
        assert name not in payload + shown


def test_records_name_no_one_of_here(there: Brought) -> None:
    starter, reviewer = there.ids
    decision = rows("SELECT id FROM gp_decision")[0][0]
    for model, ident in (
        ("checkpoints_event", f"{there.thread}.1"),
        ("checkpoints_checkpoint", f"{there.thread}.0"),
        ("approvals_approval", str(there.approval)),
        ("approvals_decision", str(decision)),
    ):
        there.page(reverse(f"admin:{model}_changelist"))
        page = there.page(reverse(f"admin:{model}_change", args=[ident]))
        assert ELSEWHERE in page, model
    listed = there.page(reverse("admin:checkpoints_event_changelist"))
    assert f"user {starter} {ELSEWHERE} edited limit" in listed
    listed = there.page(reverse("admin:approvals_decision_changelist"))
    assert f"user {reviewer} {ELSEWHERE}" in listed


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE gp_thread SET imported_seq = imported_seq - 1",
        "UPDATE gp_thread SET imported_number = imported_number + 1",
        "UPDATE gp_approval SET imported = false",
    ],
)
def test_whoever_alters_the_mark_is_found(there: Brought, change: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(change)
        cursor.execute("SET session_replication_role = DEFAULT")
    assert not verify(there.thread).intact


def test_what_is_decided_here_has_its_names(there: Brought) -> None:
    starter, _ = there.ids
    agent = scene.make_agent(version=2)
    request = scene.waiting(there.cast.elsewhere, agent)
    done = gates.decide(
        request.id,
        workspace=there.cast.elsewhere,
        reviewer=gates.Reviewer(f"user:{starter}", HERE[0]),
        verdict="reject",
        proposal_hash=request.proposal_hash,
        comment="no",
    )
    assert done is not None
    assert not approval_queries.approval(request.id, workspace=there.cast.elsewhere).imported
    page = there.cast.client("stranger").get(reverse("thread", args=[request.thread]))
    assert f"{HERE[0]} rejected" in page.content.decode()
