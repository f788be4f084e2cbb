"""Counts of threads by status: exact up to a cap, so that no counter reads a whole table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from ...postgres.named_rows import fetch_named
from ...selections import EVERY_THREAD, Selection
from ...states import Status
from ...views import AtLeast
from .few import Match, lookup_of
from .filters import TOP, filters

COUNT_CAP: Final = 10_000
LOOK: Final = 500
_NEWEST_FIRST: Final = "ORDER BY th.status_since DESC, th.id DESC"


def counts(selection: Selection = EVERY_THREAD, *, workspace: UUID) -> dict[Status, int]:
    """Threads per status, also of others than it selects, each counted up to COUNT_CAP + 1.

    AtLeast where words or labels select many, and a status has more threads than are looked at.
    """
    with lookup_of(workspace, selection) as lookup:
        if lookup.match is not Match.ANY:
            where, params = filters(workspace, selection, common=lookup.common)
            return dict.fromkeys(Status, 0) | _of_words(lookup.match, workspace, where, params)

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
    parts = {s: counted(s, None) for s in Status if not tree.held or s is Status.WAITING}
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


def _of_words(
    match: Match, workspace: UUID, where: Sequence[str], params: Sequence[Any]
) -> dict[Status, int]:
    """Threads per status that match: all of few, of many those among the newest LOOK of each."""
    if match is Match.FEW:
        result = fetch_named(
            "SELECT th.status, count(*), false FROM gp_thread th WHERE th.workspace_id = %s::uuid "
            f"AND {' AND '.join(where)} GROUP BY th.status",
            (workspace, *params),
        )
    else:
        text = " AND ".join(where)
        result = fetch_named(
            " UNION ALL ".join(
                f"(SELECT '{status}', count(*) FILTER (WHERE {text}), count(*) > %s FROM "
                f"(SELECT th.* FROM gp_thread th WHERE th.workspace_id = %s::uuid AND th.status = "
                f"'{status}' {_NEWEST_FIRST} LIMIT %s) th)"
                for status in Status
            ),
            [value for _ in Status for value in (*params, LOOK, workspace, LOOK + 1)],
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
