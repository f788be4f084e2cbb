"""What narrows threads, each a field with its SQL: one object for lists, lanes and counts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Final
from uuid import UUID

from .agent_versions import OURS
from .states import Status

_STOPS_FRAMEWORK: Final = (
    "EXISTS (SELECT 1 FROM gp_agent_version v WHERE v.id = th.agent_version_id "
    "AND b.selection ->> 'framework' = "
    f"coalesce(v.graph -> 'external' ->> 'framework', '{OURS}'))"
)
_STOPS_DAMAGED: Final = (
    "EXISTS (SELECT 1 FROM gp_verification k WHERE k.thread_id = th.id AND NOT k.intact)"
)


def _sql(*, listed: str = "", stopped: str = "") -> dict[str, str]:
    """The SQL of a field, which narrows threads unless it has its default.

    `listed` is the condition on a thread th, each %s its value; empty where a term of the query
    language has it. `stopped` is the same for a breaker b, whose selection has the value by name;
    empty where no breaker selects by it. It reads no clock.
    """
    return {"listed": listed, "stopped": stopped}


@dataclass(frozen=True, slots=True)
class TreeFilter:
    """A place in family trees: whose children, whose tree (with its first), how far below it.

    `top`: threads that no other thread started, and children only where they are in attention.
    `held`: children that begin when others end, or all but these.
    """

    parent: UUID | None = field(
        default=None,
        metadata=_sql(
            listed="th.parent = %s::uuid",
            stopped="coalesce(th.parent = (b.selection ->> 'parent')::uuid, false)",
        ),
    )
    root: UUID | None = field(
        default=None,
        metadata=_sql(
            listed="(th.root = %s::uuid OR th.id = %s::uuid)",
            stopped="(th.id = (b.selection ->> 'root')::uuid "
            "OR coalesce(th.root = (b.selection ->> 'root')::uuid, false))",
        ),
    )
    depth: int | None = field(
        default=None,
        metadata=_sql(
            listed="th.depth = %s::smallint",
            stopped="th.depth = (b.selection ->> 'depth')::smallint",
        ),
    )
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
    agent: str = field(default="", metadata=_sql(stopped="th.agent = b.selection ->> 'agent'"))
    framework: str = field(default="", metadata=_sql(stopped=_STOPS_FRAMEWORK))
    name: str = field(default="", metadata=_sql(listed="th.name = %s::varchar"))
    q: str = ""
    damaged: bool = field(default=False, metadata=_sql(stopped=_STOPS_DAMAGED))
    label: tuple[str, str] | None = None
    tree: TreeFilter = ANYWHERE


EVERY_THREAD: Final = Selection()


def conditions(selection: Selection | TreeFilter) -> Iterator[tuple[str, Any, str]]:
    """(name, value, SQL on th) of each field that narrows; the SQL is empty for terms."""
    for one in fields(selection):
        value = getattr(selection, one.name)
        if one.metadata and value != one.default:
            yield one.name, value, one.metadata["listed"]


# For a breaker b and a thread th: whether th fits each of these that the selection of b has.
STOPPED_BY_FIELDS: Final = "\n  AND ".join(
    f"(NOT b.selection ? '{one.name}' OR {stopped})"
    for one in (*fields(Selection), *fields(TreeFilter))
    if (stopped := one.metadata.get("stopped"))
)
