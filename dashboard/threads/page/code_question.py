"""The question which code continues a thread whose agent changed: choices and differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from checkpoints import queries
from checkpoints.code_parts import CodeChange, changes
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from dashboard.identity.permissions import Actor, HasRoles, lacks

CHOICES: Final = ("pin", "accept", "fork", "unpin")


# Which right each needs; a fork is a fork, whatever the reason.
RIGHT: Final = {"pin": "code", "accept": "code", "unpin": "code", "fork": "fork"}


WORDS: Final = {
    "pin": ("Keep the old code", "It waits until a worker with that code is available."),
    "accept": ("Continue with the new code", "It continues from where it stopped."),
    "fork": ("Fork with the new code", "A new thread continues with it; this one doesn't change."),
    "unpin": ("Unpin", "Any code that the agent's rule allows may continue it."),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A button of the banner: `reason` says what is missing where it may not be pressed."""

    name: str
    word: str
    about: str
    reason: str = ""


def open_choices(thread: ThreadRow) -> tuple[str, ...]:
    """List the code choices that the thread offers in its current status."""
    request = thread.waiting_on if isinstance(thread.waiting_on, dict) else {}
    named = [str(c) for c in request.get("choices") or ()]
    if thread.status is Status.ATTENTION and thread.rollback is None:
        offered = [c for c in CHOICES if c in named]
    elif thread.status is Status.QUEUED and thread.pinned:
        offered = [c for c in CHOICES if c in named and c != "pin"]
    else:
        offered = []
    return (*offered, *(["unpin"] if thread.pinned else []))


def choices_for(actor: HasRoles, thread: ThreadRow) -> list[Choice]:
    """The buttons for a person."""
    return [Choice(c, *WORDS[c], lacks(actor, RIGHT[c])) for c in open_choices(thread)]


def alike(actor: Actor, thread: ThreadRow) -> list[UUID]:
    """The threads that ask the very same: with the same code before and offered."""
    request = thread.waiting_on if isinstance(thread.waiting_on, dict) else {}
    if request.get("kind") != "code" or "version" not in request:
        return []
    offered = UUID(str(request["version"]))
    result = queries.asking_alike(thread.agent_version_id, offered, workspace=actor.workspace)
    return [row.id for row in result]


def changed_parts(thread: ThreadRow) -> list[CodeChange]:
    """The parts in which the code that is offered differs from the one it stopped with."""
    request = thread.waiting_on if isinstance(thread.waiting_on, dict) else {}
    if request.get("kind") != "code" or "version" not in request:
        return []
    before = queries.code_of_version(thread.agent_version_id)
    return changes(before, queries.code_of_version(UUID(str(request["version"]))))
