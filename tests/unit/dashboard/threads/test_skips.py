"""Skipping a node by page, call and action: the reason, the right, and what is withdrawn."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from approvals import queries as gates
from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.states import EventKind, Status
from dashboard.errors import Forbidden, Invalid, Missing, NotAllowedNow
from dashboard.kit.action import read
from dashboard.threads.pause import PAUSE, Pause
from dashboard.threads.skip import SKIP, Skip
from tests.support.cast import Cast
from tests.unit.dashboard import scene

GONE = "the service was shut down"


@pytest.fixture
def failed(cast: Cast, agent: UUID) -> UUID:
    """A thread whose first node failed."""
    thread = scene.start(cast.workspace, agent)
    store.leave(scene.lease(thread), EventKind.THREAD_FAILED, reason="translate: no such service")
    return thread


def node_of(thread: UUID, cast: Cast) -> str:
    return queries.thread(thread, workspace=cast.workspace).next_nodes[0]


@pytest.mark.requirement("B43")
def test_the_page_shows_the_reason_and_the_node_and_skips_it(
    cast: Cast, client: Client, failed: UUID
) -> None:
    client.force_login(cast.users["operator"])
    node, at = node_of(failed, cast), reverse("thread_skip", args=[failed])
    page = client.get(reverse("thread", args=[failed])).content.decode()
    assert at in page
    dialog = client.get(at).content.decode()
    assert "no such service" in dialog
    assert f'value="{node}" checked' in dialog
    version = queries.thread(failed, workspace=cast.workspace).version
    refused = client.post(at, {"version": version, "node": node, "reason": " "})
    assert refused.status_code == 422
    assert 'aria-describedby="reason-hint"  aria-invalid="true"' in refused.content.decode()
    assert queries.thread(failed, workspace=cast.workspace).status == Status.FAILED
    done = client.post(at, {"version": version, "node": node, "reason": GONE}, follow=True)
    assert f"Skipped {node}." in done.content.decode()
    assert f"skipped {node}: {GONE}" in done.content.decode()
    assert queries.thread(failed, workspace=cast.workspace).status == Status.QUEUED
    assert verify_thread(failed).intact


def test_a_second_click_is_refused_with_what_is_now(
    cast: Cast, client: Client, failed: UUID
) -> None:
    client.force_login(cast.users["operator"])
    node, at = node_of(failed, cast), reverse("thread_skip", args=[failed])
    form = {
        "version": queries.thread(failed, workspace=cast.workspace).version,
        "node": node,
        "reason": GONE,
    }
    assert client.post(at, form).status_code == 303
    assert client.post(at, form).status_code in (409, 412)
    kinds = [event.kind for event in queries.events(failed).rows]
    assert kinds.count("node.skipped") == 1


def test_open_requests_of_the_node_are_withdrawn(cast: Cast, agent: UUID) -> None:
    request = scene.waiting(cast.workspace, agent)
    who = cast.actor("operator")
    PAUSE.run(who, Pause(), request.thread)
    row = queries.thread(request.thread, workspace=cast.workspace)
    assert request.node in row.next_nodes
    assert SKIP.run(who, Skip(node=request.node, reason=GONE), request.thread) == Status.PAUSED
    now = gates.approval(request.id, workspace=cast.workspace)
    assert (now.status, GONE in now.comment) == ("withdrawn", True)
    assert verify_thread(request.thread).intact


def test_who_may_not_and_what_is_not_there(cast: Cast, failed: UUID) -> None:
    node, who = node_of(failed, cast), cast.actor("operator")
    for name in ("viewer", "manager", "auditor"):
        with pytest.raises(Forbidden):
            SKIP.run(cast.actor(name), Skip(node=node, reason=GONE), failed)
    for wrong, path in (("", "$.node"), ("nobody", "$.node")):
        with pytest.raises(Invalid) as caught:
            SKIP.run(who, read(Skip, {"node": wrong, "reason": GONE}), failed)
        assert caught.value.path == path
    with pytest.raises(Invalid) as caught:
        SKIP.run(who, read(Skip, {"node": node, "reason": ""}), failed)
    assert caught.value.path == "$.reason"
    SKIP.run(who, Skip(node=node, reason=GONE), failed)
    with pytest.raises(NotAllowedNow):
        SKIP.run(who, Skip(node=node, reason=GONE), failed)


def test_threads_of_other_workspaces_are_missing(cast: Cast, agent: UUID) -> None:
    foreign = scene.start(cast.elsewhere, agent)
    with pytest.raises(Missing):
        SKIP.run(cast.actor("operator"), Skip(node="collect", reason=GONE), foreign)
