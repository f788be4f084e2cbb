"""The inbox as upper floors read it: boxes, their order, equal requests as one entry, counts.

Every statement walks an index from a place in the order and stops after a window, so a look costs
the same however many requests wait. Which index it is depends on who asks and what waits: a person
with five requests is led by their name, one with half of all by the order. So these statements are
planned for each look, and never by a plan that was kept for anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from checkpoints.agent_versions import OURS
from checkpoints.errors import InvalidValue
from checkpoints.postgres.list_conditions import condition, narrowing, parameters
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.plans import planned_for_this
from checkpoints.postgres.sql_files import Statements, sql_file
from checkpoints.state import deltas

from ..queries import OPEN_CAP
from ..queries.deputies import ActsFor
from ..rules.terms import names_of
from .rows import InboxRow, rows

BOXES: Final = ("mine", "team", "due", "high", "open", "done")
SORTS: Final = ("risk", "age", "deadline")
WINDOW = 600  # requests among which equal ones are found
SEARCHED = 5_000  # requests of a box that a search for words looks through
WALKED = 1_000  # requests that the way through a box knows
ENTRIES, MEMBERS = 30, 50  # of a page, and of each entry on it
ROWS = 100  # requests on a page, however they are grouped
COUNTED = OPEN_CAP  # what a box shows as a number; one more than that is counted
DUE_SECONDS = 3_600

_AGE: Final = ("a.requested_at", "a.id")
_DUE_AT: Final = "coalesce(a.decide_by, a.deadline, 'infinity'::timestamptz)"


# Equal for equal requests.
_SHAPE: Final = "gp_shape(a.agent_version_id, a.tool, a.policy_version, a.risk, a.title)"
_OF_AGENT: Final = """a.agent_version_id = ANY(ARRAY(
    SELECT v.id FROM gp_agent_version v WHERE v.agent = %(agent)s::text))"""
_OF_FRAMEWORK: Final = f"""a.agent_version_id = ANY(ARRAY(
    SELECT v.id FROM gp_agent_version v WHERE CASE WHEN %(framework)s::text = '{OURS}'
      THEN v.graph -> 'external' IS NULL
      ELSE v.graph -> 'external' ->> 'framework' = %(framework)s::text END))"""
_ALIKE: Final = f"{_SHAPE} = (SELECT {_SHAPE} FROM gp_approval a WHERE a.id = %(alike)s::uuid)"


@dataclass(frozen=True, slots=True)
class Person:
    """The owner of a personal inbox: `user:7`, the user name, the names of their groups."""

    id: str
    user: str
    teams: tuple[str, ...] = ()
    acts_for: ActsFor = field(default_factory=ActsFor)

    @property
    def seats(self) -> list[str]:
        """The names by which a request's terms mean this person; `*` is any reviewer."""
        return [*names_of(self.user, self.teams)]

    @property
    def all_seats(self) -> list[str]:
        """The same with what names those in whose place they may act."""
        theirs = (name for one in self.acts_for.mandates for name in one.names)
        return [*dict.fromkeys((*self.seats, *theirs))]

    @property
    def represented(self) -> str:
        """Those in whose place they may act, as JSON: [{person, names, request}]."""
        mandates = [
            {
                "person": one.person,
                "names": list(one.names),
                "request": None if one.request is None else str(one.request),
            }
            for one in self.acts_for.mandates
        ]
        return deltas.canonical(mandates).decode()

    @property
    def team_seats(self) -> list[str]:
        return [f"team:{team}" for team in self.teams]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filter of a list; `alike` is a request whose equals are wanted."""

    workspace: UUID
    box: str = "open"
    sort: str = "risk"
    person: Person | None = None
    agent: str = narrowing("", _OF_AGENT)
    q: str = ""
    alike: UUID | None = narrowing(None, _ALIKE)
    framework: str = narrowing("", _OF_FRAMEWORK)

    @property
    def order(self) -> str:
        return "done" if self.box == "done" else self.sort

    @property
    def grouped(self) -> bool:
        """Answer True if equal requests are one entry: not in `done`, nor in a list of equals."""
        return self.box != "done" and self.alike is None


def _ordered_by(*keys: str, newest_first: bool = False) -> Statements:
    return sql_file(
        __file__,
        due_at=_DUE_AT,
        ours=OURS,
        shape=_SHAPE,
        narrowed=condition(Wanted),
        due_seconds=str(DUE_SECONDS),
        keys=", ".join(keys),
        order=", ".join(f"{key} {'DESC' if newest_first else 'ASC'}" for key in keys),
        comparison="<" if newest_first else ">",
    )


SQL: Final = _ordered_by(*_AGE)
_ORDERS: Final = {
    "risk": _ordered_by("gp_risk(a.risk)", *_AGE),
    "age": SQL,
    "deadline": _ordered_by(_DUE_AT, *_AGE),
    "done": _ordered_by("coalesce(a.decided_at, a.requested_at)", "a.id", newest_first=True),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Equal requests, the first in the order leading; `total` counts those beyond `rows`, too.

    `more`: there may be others behind the window. `due` is the nearest deadline of all in it (None:
    none has one), `since` when the oldest was made.
    """

    rows: tuple[InboxRow, ...]
    total: int
    more: bool
    due: datetime | None
    since: datetime

    @property
    def first(self) -> InboxRow:
        return self.rows[0]

    @property
    def whole(self) -> bool:
        """Answer True if `rows` are all of them, so that a sum over them is complete."""
        return not self.more and self.total == len(self.rows)


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of a box; `searched` says that words were looked for in a part of it only."""

    entries: tuple[Entry, ...]
    next_cursor: str
    searched: bool = False


class _Candidate(NamedTuple):
    """A request in a window; equal ones have one `group`, `later`: it comes after a place."""

    id: UUID
    group: int | UUID
    later: bool
    due: datetime | None
    since: datetime


def _window(
    wanted: Wanted, *, limit: int, after: UUID | None = None, beyond: UUID | None = None
) -> list[_Candidate]:
    """Requests in the order of the box, from after `after`; `later` are those after `beyond`.

    Equal requests are one group; what is of high risk stands alone, never hidden among others.
    """
    with planned_for_this():
        rows = fetch_named(
            _ORDERS[wanted.order].window,
            {
                **_seats(wanted.workspace, wanted.person),
                **parameters(wanted),
                "box": wanted.box,
                "after": after,
                "beyond": beyond,
                "words": _pattern(wanted.q) if wanted.q else None,
                "window": SEARCHED if wanted.q else limit,
                "limit": limit,
            },
        )
    return [
        _Candidate(row.id, row.id if row.high else row.shape, row.later, row.due, row.since)
        for row in rows
    ]


def _seats(workspace: UUID, person: Person | None) -> dict[str, Any]:
    return {
        "workspace": workspace,
        "person": person and person.id,
        "seats": person.seats if person else [],
        "all_seats": person.all_seats if person else [],
        "represented": person.represented if person else "[]",
        "handed_over": list(person.acts_for.handed_over) if person else [],
        "team_seats": person.team_seats if person else [],
    }


def _pattern(words: str) -> str:
    return "%" + words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def page(wanted: Wanted, *, cursor: str = "", limit: int = ENTRIES) -> Listed:
    """Entries of a box: two statements. Raises InvalidValue for a cursor of something else.

    Decided requests and those of one kind (`alike`) are not grouped.
    """
    start, after = _places(cursor)
    size = WINDOW if wanted.grouped else limit
    window = _window(wanted, limit=size + 1, after=start, beyond=after)
    full, window = len(window) > size, window[:size]
    groups = [alike for alike in _groups(wanted, window) if alike[0].later]
    shown: list[list[UUID]] = []
    n = 0
    for alike in groups[:limit]:
        ids = [one.id for one in alike[: min(MEMBERS, max(ROWS - n, 1))]]
        shown.append(ids)
        n += len(ids)
        if n >= ROWS:
            break
    about = (
        rows([ident for ids in shown for ident in ids], workspace=wanted.workspace) if shown else {}
    )
    entries = tuple(
        Entry(
            tuple(about[i] for i in ids if i in about),
            len(alike),
            full and wanted.grouped and alike[0].group != alike[0].id,
            min((one.due for one in alike if one.due), default=None),
            min(one.since for one in alike),
        )
        for ids, alike in zip(shown, groups, strict=False)
        if any(i in about for i in ids)
    )
    next_cursor = ""
    if len(groups) > len(shown):
        next_cursor = f"{start or ''}.{shown[-1][0]}"
    elif full:
        next_cursor = f"{window[-1].id}."
    return Listed(entries, next_cursor, searched=bool(wanted.q))


def _groups(wanted: Wanted, window: Sequence[_Candidate]) -> list[list[_Candidate]]:
    """Equal requests beside each other, in their order."""
    groups: dict[object, list[_Candidate]] = {}
    for one in window:
        groups.setdefault(one.group if wanted.grouped else one.id, []).append(one)
    return list(groups.values())


def _places(cursor: str) -> tuple[UUID | None, UUID | None]:
    if not cursor:
        return None, None
    window, dot, after = cursor.partition(".")
    try:
        if not dot:
            raise ValueError
        return (UUID(window) if window else None), (UUID(after) if after else None)
    except ValueError:
        raise InvalidValue("cursor", "is not a cursor of this list") from None


def in_order(wanted: Wanted) -> list[UUID]:
    """The first requests of a box as its list shows them, equal ones beside each other.

    One more than WALKED where there are more.
    """
    window = _window(wanted, limit=WALKED + 1)
    return [one.id for alike in _groups(wanted, window) for one in alike]


def walk(wanted: Wanted, *, after: UUID | None, limit: int) -> tuple[list[UUID], str]:
    """(ids in the order of the box, the cursor of what comes next), not grouped; for the API."""
    if after is not None and after not in rows([after], workspace=wanted.workspace):
        raise InvalidValue("cursor", "is not a cursor of this list")
    ids = [one.id for one in _window(wanted, limit=limit + 1, after=after)]
    return ids[:limit], str(ids[limit - 1]) if len(ids) > limit else ""


def counts(workspace: UUID, person: Person | None) -> dict[str, int]:
    """Count the requests in each box, up to COUNTED + 1: one statement; mine only with a person."""
    with planned_for_this():
        params = _seats(workspace, person) | {"limit": COUNTED + 1}
        (row,) = fetch_named(SQL.counts, params)
    counted: dict[str, int] = row._asdict()
    return {box: n for box, n in counted.items() if person or box not in ("mine", "team")}


def agents(workspace: UUID) -> dict[str, list[str]]:
    """{framework: its agents} of those whose requests are among the oldest that wait."""
    results: dict[str, list[str]] = {}
    for row in fetch_named(SQL.agents, {"workspace": workspace, "limit": WINDOW}):
        results.setdefault(row.framework, []).append(row.agent)
    return results
