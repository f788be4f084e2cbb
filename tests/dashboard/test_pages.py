"""Every page for every member of the cast: what it answers, holds and costs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries, store
from checkpoints.states import EventKind
from tests.cast import Cast
from tests.dashboard import scene

MEMBERS = ("operator", "manager", "auditor", "viewer", "admin")
INLINE = re.compile(
    r"<style\b|<script\b(?![^>]*\bsrc=)|\son[a-z]+\s*=\s*[\"']|\sstyle\s*=|javascript:", re.IGNORECASE
)
# Statements of one page: login and user 2, roles 1, open requests of the frame 1, and its own.
FRAME = 4


@dataclass(frozen=True)
class Scene:
    """A workspace with one thread of each interesting kind."""

    cast: Cast
    agent: UUID
    queued: UUID
    done: UUID
    failed: UUID
    request: ApprovalRow
    fork: UUID

    @property
    def waiting(self) -> UUID:
        return self.request.thread


@pytest.fixture
def place(cast: Cast) -> Scene:
    """Threads that are queued, waiting, failed, done and forked, made without an engine."""
    agent = scene.make_agent()
    scene.alive(agent)
    start = lambda: scene.start(cast.workspace, agent, by=cast.actor("operator").id)  # noqa: E731
    queued = start()
    work = scene.lease(start())
    scene.step(work, report="draft")
    scene.effect(work)
    scene.step(work, report="final", leave_by=EventKind.THREAD_SUCCEEDED)
    broken = scene.lease(start())
    store.leave(broken, EventKind.THREAD_FAILED, reason="The column “delay” is missing")
    request = scene.waiting(cast.workspace, agent)
    forked = store.fork(
        work.thread,
        checkpoint=queries.checkpoint_by_number(work.thread, 1).id,
        changes={"goal": "weather"},
        actor=cast.actor("manager").id,
    )
    return Scene(cast, agent, queued, work.thread, broken.thread, request, forked)


def pages(place: Scene) -> dict[str, tuple[str, int]]:
    """{name: (path, most statements of its own)} of all pages that everybody may read."""
    return {
        "board": ("/", 8),
        "board by status": ("/?status=waiting,failed", 8),
        "board by words": ("/?q=delays", 8),
        "board of an agent": ("/?agent=research", 8),
        "thread, waiting": (f"/threads/{place.waiting}/", 15),
        "thread, done": (f"/threads/{place.done}/", 15),
        "thread, queued": (f"/threads/{place.queued}/", 15),
        "thread, failed": (f"/threads/{place.failed}/", 15),
        "thread, forked": (f"/threads/{place.fork}/", 17),
        "thread, past": (f"/threads/{place.done}/?cp=1", 15),
        "thread, whole state": (f"/threads/{place.done}/?tab=state", 15),
        "thread, some events": (f"/threads/{place.done}/?kind=checkpoint", 15),
        "thread, one event": (f"/threads/{place.done}/?event=2", 15),
        "approvals": ("/approvals/", 3),
        "approvals, decided": ("/approvals/?box=decided", 3),
        "approval": (f"/approvals/{place.request.id}/", 8),
    }


def fetch(client: Client, path: str, most: int, **headers: str) -> Any:
    with CaptureQueriesContext(connection, ) as caught:
        answer = client.get(path, headers=headers)
    own = [q["sql"] for q in caught.captured_queries]
    assert len(own) <= most + FRAME, "\n".join(own)
    return answer


@pytest.mark.parametrize("name", MEMBERS)
def test_everybody_with_a_role_reads_every_page(place: Scene, name: str) -> None:
    client = place.cast.client(name)
    for what, (path, most) in pages(place).items():
        answer = fetch(client, path, most)
        html = answer.content.decode()
        assert answer.status_code == 200, (what, html)
