"""Open breakers as the board shows them: who, why, since when, and how their threads stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from checkpoints import queries
from checkpoints.breakers.rule import BreakerRow
from checkpoints.queries import BreakerThreads
from checkpoints.states import Status
from dashboard.fields.thread_filters import selection_words
from dashboard.identity.people import people

# Those of released threads that a person looks for first stand first.
ORDER = (
    *(Status.FAILED, Status.ATTENTION, Status.RUNNING, Status.QUEUED, Status.WAITING),
    *(Status.SLEEPING, Status.PAUSED, Status.ROLLING_BACK, Status.SUCCEEDED, Status.CANCELLED),
)


@dataclass(frozen=True, slots=True)
class OpenBreaker:
    """A breaker that stops threads: `what` are the threads in words, `by` a person's name.

    `released` are (status, number) of threads that continue.
    """

    row: BreakerRow
    what: str
    by: str
    progress: BreakerThreads
    released: Sequence[tuple[str, int]]


def open_breaker(row: BreakerRow, progress: BreakerThreads, names: dict[str, str]) -> OpenBreaker:
    """One of them as templates need it."""
    released = [(str(s), progress.released[s]) for s in ORDER if s in progress.released]
    by = names.get(row.opened_by, row.opened_by)
    return OpenBreaker(row, selection_words(row.selection), by, progress, released)


def shown_breakers(workspace: UUID, rows: Sequence[BreakerRow]) -> list[OpenBreaker]:
    """The open breakers of a board; reads only where there are some."""
    if not rows:
        return []
    progress = queries.breaker_progress(workspace)
    names = people(row.opened_by for row in rows)
    return [open_breaker(r, progress.get(r.id, BreakerThreads()), names) for r in rows]


def narrowed(q: str, agent: str) -> dict[str, str]:
    """The board's query in the fields of the dialog that stops threads.

    What a breaker cannot select stays in `q`; the dialog refuses it in words.
    """
    try:
        terms = queries.parse_query(q).terms
    except queries.InvalidQuery:
        return {"q": q, "agent": agent}
    results = {"q": "", "agent": agent, "label": ""}
    for term in terms:
        name = term.name or "q"
        single = len(term.values) == 1 and not (term.negated or term.others)
        labelled = name != "label" or "=" in term.values[0]
        if name not in results or results[name] or not single or not labelled:
            return {"q": q, "agent": agent}
        results[name] = str(term) if name == "q" else term.values[0]
    return results | {"label": results["label"].replace("=", ":", 1)}
