"""Forks of a thread as its pages show them."""

from __future__ import annotations

from uuid import UUID

from checkpoints import queries
from checkpoints.views import ThreadRow


def forks_of(thread_id: UUID) -> list[ThreadRow]:
    """The forks, newest first; those that took over from the thread stand in the family tree."""
    return [fork for fork in queries.forks_of(thread_id) if fork.root is None]
