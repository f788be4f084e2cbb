"""How many threads match each of several selections, at a cost that has a bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from ...postgres.named_rows import fetch_named
from ...postgres.plans import planned_for_this
from ...selections import Selection
from ...states import LIVE, Status
from .few import Match, lookup_of
from .filters import filters
from .language import Term, parse

SHOWN_MAX: Final = 100
WINDOW: Final = 5_000
_EVERY: Final = frozenset(Status)
# What a term of the query leaves of the statuses.
_OF_HAS: Final = {
    "stuck": LIVE,
    "error": frozenset({Status.FAILED, Status.ATTENTION}),
    "approval": frozenset({Status.WAITING}),
}


def bounded_counts(selections: Sequence[Selection], *, workspace: UUID) -> list[int | None]:
    """Threads that match each selection, up to SHOWN_MAX, in one statement.

    Not more than WINDOW threads are looked at for each, or the few that an index has for its words
    and labels; None where more have the statuses that it can match. Raises InvalidQuery for a query
    that is not understood.
    """
    if not selections:
        return []
    texts, params = [], list[Any]()
    for one in selections:
        with lookup_of(workspace, one) as lookup:
            where, values = filters(workspace, one, common=lookup.common)
        statuses = [str(status) for status in Status if status in possible(one)]
        if lookup.match is Match.FEW:
            conditions = " AND ".join(where)
            texts.append(
                f"(SELECT least(count(*), %s) FROM gp_thread th WHERE {conditions} "
                "AND th.workspace_id = %s::uuid AND th.status = ANY(%s::text[]))"
            )
            params += [SHOWN_MAX, *values, workspace, statuses]
            continue
        texts.append(
            "(SELECT CASE WHEN x.seen <= %s OR x.n >= %s THEN least(x.n, %s) END FROM "
            f"(SELECT count(*) AS seen, count(*) FILTER (WHERE {' AND '.join(where) or 'true'}) "
            "AS n FROM (SELECT th.* FROM gp_thread th WHERE th.workspace_id = %s::uuid "
            "AND th.status = ANY(%s::text[]) LIMIT %s) th) x)"
        )
        params += [WINDOW, SHOWN_MAX, SHOWN_MAX, *values, workspace, statuses, WINDOW + 1]
    with planned_for_this():
        (row,) = fetch_named(f"SELECT {', '.join(texts)}", params)
    return list(row)


def possible(selection: Selection) -> frozenset[Status]:
    """The statuses that a thread which matches can have."""
    result = frozenset(selection.statuses) or _EVERY
    for term in parse(selection.q).terms:
        result &= frozenset().union(*map(_of_term, term.alternatives))
    return result


def _of_term(term: Term) -> frozenset[Status]:
    if term.name == "status":
        named = frozenset(map(Status, term.values))
        return _EVERY - named if term.negated else named
    if term.negated:
        return _EVERY
    if term.name == "stuck":
        return LIVE
    if term.name == "error":
        return _OF_HAS["error"]
    if term.name == "has" and set(term.values) <= _OF_HAS.keys():
        return frozenset().union(*(_OF_HAS[value] for value in term.values))
    return _EVERY
