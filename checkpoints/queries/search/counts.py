"""Counts of threads by status: exact up to a cap, so that no counter reads a whole table."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from ...postgres.named_rows import fetch_named
from ...postgres.plans import planned_for_this
from ...selections import EVERY_THREAD, Selection
from ...states import Status
from ...views import AtLeast
from .bounded import possible
from .few import Match, lookup_of
from .filters import TOP, Conditions, conditions_of, filters

COUNT_CAP: Final = 10_000
LOOK: Final = 500
_NEWEST_FIRST: Final = "ORDER BY th.status_since DESC, th.id DESC"
_OLDEST_FIRST: Final = "ORDER BY th.status_since, th.id"


def counts(
    selection: Selection = EVERY_THREAD,
    *,
    workspace: UUID,
    newest_first: Collection[Status] = frozenset(Status),
) -> dict[Status, int]:
    """Threads per status, also of others than it selects, each counted up to COUNT_CAP + 1.

    AtLeast where no index finds what is selected, or it is much, and a status has more threads than
    are looked at: those that came last of `newest_first`, those longest in it of the others.
    """
    with lookup_of(workspace, selection) as lookup:
        made = conditions_of(workspace, selection, common=lookup.common)
        if lookup.match is Match.FEW:
            return dict.fromkeys(Status, 0) | _of_few(workspace, made)
        some = possible(replace(selection, statuses=()))
        if not some:
            return dict.fromkeys(Status, 0)
        if made.is_walked:
            return dict.fromkeys(Status, 0) | _of_first(workspace, made, some, newest_first)

    tree = selection.tree

    def counted(
        status: Status, held: bool | None, most: int = COUNT_CAP + 1
    ) -> tuple[str, list[Any]]:
        where, params = filters(workspace, replace(selection, tree=replace(tree, held=held)))
        narrowed = "".join(f"AND {condition} " for condition in where)
        # A constant, and in order: else the planner might rather look through all threads.
        return (
            "(SELECT count(*) FROM (SELECT 1 FROM gp_thread th WHERE th.workspace_id = %s::uuid "
            f"AND th.status = '{status}' {narrowed}{_NEWEST_FIRST} LIMIT %s) x)",
            [workspace, *params, most],
        )

    # Only threads that wait are held, few of them: the others are known by an index alone.
    parts = {s: counted(s, None) for s in some if not tree.held or s is Status.WAITING}
    if tree.held is not None:
        parts[Status.WAITING] = held, of_held = counted(Status.WAITING, True)
    if tree.held is False:
        others, of_others = counted(Status.WAITING, False)
        both, of_both = counted(Status.WAITING, None, 2 * COUNT_CAP + 2)
        parts[Status.WAITING] = (
            f"(SELECT CASE WHEN h.n > %s THEN {others} ELSE least({both} - h.n, %s) END "
            f"FROM (SELECT {held} AS n) h)",
            [COUNT_CAP, *of_others, *of_both, COUNT_CAP + 1, *of_held],
        )
    result = fetch_named(
        " UNION ALL ".join(f"SELECT '{status}', {text}" for status, (text, _) in parts.items()),
        [value for _, values in parts.values() for value in values],
    )
    return dict.fromkeys(Status, 0) | {Status(s): n for s, n in result}


def _of_few(workspace: UUID, made: Conditions) -> dict[Status, int]:
    """Threads per status, of few that an index finds."""
    result = fetch_named(
        "SELECT th.status, count(*) FROM gp_thread th WHERE th.workspace_id = %s::uuid "
        f"AND {' AND '.join(made.where)} GROUP BY th.status",
        (workspace, *made.params),
    )
    return {Status(status): n for status, n in result}


def _of_first(
    workspace: UUID,
    made: Conditions,
    some: Collection[Status],
    newest_first: Collection[Status],
) -> dict[Status, int]:
    """Threads that match among the first LOOK of these statuses; AtLeast where there are more."""
    text = " AND ".join(made.where)
    ordered = "".join(f"AND {condition} " for condition in made.ordered)
    params = (*made.params, LOOK, workspace, *made.ordered_params, LOOK + 1)
    with planned_for_this():
        result = fetch_named(
            " UNION ALL ".join(
                f"(SELECT '{status}', count(*) FILTER (WHERE {text}), count(*) > %s FROM "
                f"(SELECT th.* FROM gp_thread th WHERE th.workspace_id = %s::uuid AND th.status = "
                f"'{status}' {ordered}{_NEWEST_FIRST if status in newest_first else _OLDEST_FIRST} "
                "LIMIT %s) th)"
                for status in some
            ),
            params * len(some),
        )
    return {Status(status): AtLeast(n) if more else n for status, n, more in result}


def children_beside(*, workspace: UUID, statuses: Iterable[Status] = ()) -> int:
    """Count the children that the filter `top` leaves out, up to COUNT_CAP + 1."""
    wanted = [str(s) for s in statuses]
    return int(
        fetch_named(
            "SELECT count(*) FROM (SELECT 1 FROM gp_thread th WHERE th.parent IS NOT NULL "
            f"AND th.workspace_id = %s::uuid AND NOT {TOP} "
            "AND (%s::text[] = '{}' OR th.status = ANY(%s::text[])) LIMIT %s) x",
            (workspace, wanted, wanted, COUNT_CAP + 1),
        )[0][0]
    )
