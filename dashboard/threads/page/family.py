"""The family tree of a thread: who started it, whom it started, hand-offs, sums over all of them.

It has a topic of its own: it moves with threads that the thread's own topic does not follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from checkpoints import queries
from checkpoints.queries import Family, FanOut, Relative
from checkpoints.states import LIVE, Status
from checkpoints.views import ReasonRow, ThreadRow
from dashboard.wording.why import why_waiting

type Roles = frozenset[str]
# Deeper ones are indented no further.
INDENT_MAX = 6


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A line of the tree: a thread, or the children of one agent as one line.

    `role` says what it is for the thread of the page: ancestor, giver, self, heir or child.
    """

    role: str
    indent: int
    relative: Relative | None = None
    fan_out: FanOut | None = None
    href: str = ""
    statuses: tuple[tuple[str, int, str], ...] = ()
    """(status, how many, the board of these) of a fan-out."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The family as the page shows it."""

    family: Family
    rows: tuple[TreeRow, ...]
    href: str
    """The board of the whole tree."""
    children_href: str


def board_of(**narrow: object) -> str:
    """The address of the board narrowed in this way."""
    query = {name: str(value) for name, value in narrow.items() if value}
    return f"/?{urlencode(query, safe=',')}"


def tree_of(family: Family) -> Tree:
    """The lines of a family, from the top of the tree to the children of the thread."""
    return Tree(
        family,
        tuple(_rows(family)),
        board_of(root=family.thread.root or family.thread.id),
        board_of(parent=family.thread.id),
    )


def _rows(family: Family) -> Iterator[TreeRow]:
    top = family.ancestors[0].depth if family.ancestors else family.thread.depth
    for ancestor in family.ancestors:
        yield TreeRow("ancestor", _indent(ancestor.depth - top), ancestor)
    own = _indent(family.thread.depth - top)
    if family.took_over_from:
        yield TreeRow("giver", own, family.took_over_from)
    yield TreeRow("self", own, family.thread)
    below = _indent(own + 1)
    for fan_out in family.fan_outs:
        if fan_out.n == 1 and fan_out.listed:
            yield TreeRow("child", below, fan_out.listed[0])
            continue
        narrow = {"parent": family.thread.id, "agent": fan_out.agent}
        yield TreeRow(
            "child",
            below,
            fan_out=fan_out,
            href=board_of(**narrow),
            statuses=tuple(_statuses(fan_out.counts, fan_out.held, narrow)),
        )
    for heir in family.handed_over_to:
        yield TreeRow("heir", own, heir)


def _statuses(
    counts: Mapping[Status, int], held: int, narrow: Mapping[str, object]
) -> Iterator[tuple[str, int, str]]:
    """(status, how many, the board of these); held ones wait for nobody and stand apart."""
    for status in queries.FIRST:
        n = counts.get(status, 0) - (held if status is Status.WAITING else 0)
        if n:
            yield str(status), n, board_of(**narrow, status=status)
        if status is Status.QUEUED and held:
            yield "held", held, board_of(**narrow, held=1)


def _indent(levels: int) -> int:
    return min(max(levels, 0), INDENT_MAX)


@dataclass
class FamilyPage:
    """The reads of one look at a family tree; `seq` is the database's clock, as of the board.

    `row` is the thread where the page beside has read it.
    """

    workspace: UUID
    id: UUID
    row: ThreadRow | None = None

    topic = "family"

    @cached_property
    def _looked(self) -> tuple[int, Any]:
        return queries.family_mark(self.id, workspace=self.workspace)

    @property
    def seq(self) -> int:
        """The database's clock when this look began, in microseconds."""
        return self._looked[0]

    @property
    def mark(self) -> Any:
        """The mark that shows the hub whether the tree changed; () without relatives."""
        return self._looked[1]

    @cached_property
    def thread(self) -> ThreadRow:
        return self.row or queries.thread(self.id, workspace=self.workspace)

    @cached_property
    def tree(self) -> Tree | None:
        """None for a thread without relatives."""
        result = queries.family(self.id, workspace=self.workspace)
        return None if result is None else tree_of(result)

    @cached_property
    def children_why(self) -> ReasonRow | None:
        """Which children it waits for; None where it waits for something else or not at all."""
        if queries.awaited(self.thread) is None:  # Mostly seen without a statement.
            return None
        why = why_waiting(self.thread)
        return why if why is not None and why.kind == "children" else None


def _family(page: Any) -> FamilyPage:
    """The page of the tree itself, or beside the page of its thread."""
    result: FamilyPage = getattr(page, "beside", page)
    return result


def thread_family(page: Any, roles: Roles) -> dict[str, Any]:
    """Region thread-family."""
    page = _family(page)
    return {"family_thread": page.id, "tree": page.tree}


def thread_children(page: Any, roles: Roles) -> dict[str, Any]:
    """Region thread-children."""
    page = _family(page)
    why = page.children_why
    links = []
    if why is not None:
        statuses = {Status(s): n for s, n in why.facts["statuses"].items()}
        held = why.facts.get("held", 0)
        links = list(_statuses(statuses, held, {"parent": page.id}))
    return {
        "family_thread": page.id,
        "children_why": why,
        "children_links": links,
        "children_open": board_of(parent=page.id, status=",".join(sorted(map(str, LIVE)))),
    }
