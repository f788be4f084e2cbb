"""Give a thread another title, in any status."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from checkpoints import queries, store
from checkpoints.limits import TITLE_MAX
from checkpoints.states import EventKind
from dashboard.errors import NotAllowedNow
from dashboard.identity.permissions import Actor, closed
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import NotBlank, Title
from dashboard.threads.thread_shapes import ThreadDetail

from .target import THREAD


class Rename(RequestShape):
    """Another title for a thread."""

    title: Annotated[str, NotBlank(TITLE_MAX)] = Field(description="The new title.")
    current: Title | None = Field(
        default=None, description="The title that was seen: 412 where somebody was quicker."
    )


def rename(actor: Actor, wanted: Rename, thread_id: UUID, *, expected_version: int | None) -> None:
    """Give a thread another title; Stale where it no longer has the `current` one."""
    thread = queries.thread(thread_id, workspace=actor.workspace)
    if thread.erased is not None:
        raise NotAllowedNow(closed(thread.erased), status=str(thread.status))
    store.rename(
        thread_id,
        title=wanted.title,
        actor=actor.id,
        current=wanted.current,
        expected_version=expected_version,
    )


RENAME = Action(
    name="thread.rename",
    right="rename",
    target=THREAD,
    versioned=True,
    takes=Rename,
    answers=ThreadDetail,
    perform=rename,
    events=(EventKind.THREAD_RENAMED,),
    summary="Give a thread another title",
    description="In any status; the former title stays in the log.",
    help="give a thread another title, in any status",
    done=lambda *_: "Renamed.",
    arguments={"title": ["title"], "current": []},
    examples="threads rename order-17 'Invoices of October, corrected'",
)
