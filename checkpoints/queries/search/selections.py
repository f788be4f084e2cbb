"""Conditions that narrow a list of threads: one object for lists, lanes and counts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from ...states import Status


@dataclass(frozen=True, slots=True)
class TreeFilter:
    """A place in family trees: whose children, whose tree (with its first), how far below it.

    `top`: threads that no other thread started, and children only where they are in attention.
    `held`: children that begin when others end, or all but these.
    """

    parent: UUID | None = None
    root: UUID | None = None
    depth: int | None = None
    top: bool = False
    held: bool | None = None

    def __bool__(self) -> bool:
        return self.parent is not None or self.root is not None or self.depth is not None


ANYWHERE: Final = TreeFilter()


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions that all hold for the threads of a list; an empty one narrows nothing.

    `framework`: that of the agent's version, OURS for agents of ours. `name`: exactly this one.
    `q`: a query of the language. `damaged`: only those whose records are. `label`: its name and
    its value, whatever signs they have.
    """

    statuses: Collection[Status] = ()
    agent: str = ""
    framework: str = ""
    name: str = ""
    q: str = ""
    damaged: bool = False
    label: tuple[str, str] | None = None
    tree: TreeFilter = ANYWHERE


EVERY_THREAD: Final = Selection()
