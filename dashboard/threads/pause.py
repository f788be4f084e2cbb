"""Pause a thread and let it continue, its children as well where that is wanted."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated
from uuid import UUID

from django.db import transaction
from pydantic import Field

from checkpoints import queries, store
from checkpoints.limits import NODE_MAX
from checkpoints.states import EventKind
from dashboard.fields.validation import check_node
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import Reason
from dashboard.threads.target import thread_for
from dashboard.threads.thread_shapes import ThreadDetail

from .target import THREAD

Children = Annotated[bool, Field(description="Let it reach the threads that it started as well.")]


class Pause(RequestShape):
    """A pause at the next step, or before a node."""

    before_node: Annotated[str, Field(max_length=NODE_MAX)] = Field(
        default="", description="Stop before this node of the agent."
    )
    reason: Reason = Field(default="", description="Kept in the log.")
    children: Children = False


class Resume(RequestShape):
    """The end of a pause."""

    children: Children = False


def pause(actor: Actor, wanted: Pause, thread_id: UUID, *, expected_version: int | None) -> str:
    """Stop the thread, or let it stop before a node; "paused" or "requested".

    With `children` the pause reaches all that it started as well, one generation after the other.
    """
    thread = thread_for(actor, "pause", thread_id)
    check_node("$.before_node", wanted.before_node, queries.agent_version(thread.agent_version_id))
    with transaction.atomic() if wanted.children else nullcontext():
        paused = store.pause(
            thread_id,
            actor=actor.id,
            before_node=wanted.before_node,
            reason=wanted.reason,
            expected_version=expected_version,
        )
        if wanted.children:
            store.reach_children(thread_id, "pause", actor=actor.id)
    return paused


def resume(actor: Actor, wanted: Resume, thread_id: UUID, *, expected_version: int | None) -> None:
    """paused -> queued; with `children` those that it started as well."""
    thread_for(actor, "resume", thread_id)
    with transaction.atomic() if wanted.children else nullcontext():
        store.resume(thread_id, actor=actor.id, expected_version=expected_version)
        if wanted.children:
            store.reach_children(thread_id, "resume", actor=actor.id)


def _paused(wanted: Pause, paused: str) -> str:
    if wanted.before_node:
        return f"It stops before {wanted.before_node}."
    now = "Paused." if paused == "paused" else "It pauses after this step."
    return f"{now} Its children are paused one after the other." if wanted.children else now


def _resumed(wanted: Resume, _: None) -> str:
    also = " So do its children." if wanted.children else ""
    return f"Resumed: it continues as soon as a worker is free.{also}"


PAUSE = Action(
    name="thread.pause",
    right="pause",
    target=THREAD,
    versioned=True,
    takes=Pause,
    answers=ThreadDetail,
    perform=pause,
    events=(EventKind.THREAD_PAUSED, EventKind.PAUSE_REQUESTED),
    summary="Pause at the next step, or before a node",
    description="Immediate where no worker holds it, else `wish` is pause until the step is done.",
    help="pause a thread at its next step, or before a node",
    done=_paused,
    arguments={"before_node": ["--before", "NODE"]},
)
RESUME = Action(
    name="thread.resume",
    right="resume",
    target=THREAD,
    versioned=True,
    takes=Resume,
    answers=ThreadDetail,
    perform=resume,
    events=(EventKind.THREAD_RESUMED,),
    summary="Resume a paused thread",
    description="paused -> queued.",
    help="let a paused thread continue",
    done=_resumed,
)
