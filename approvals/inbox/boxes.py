"""The inbox as upper floors read it: boxes, their order, equal requests as one entry, counts.

Every statement walks an index from a place in the order and stops after a window, so a look costs
the same however many requests wait. Which index it is depends on who asks and what waits: a person
with five requests is led by their name, one with half of all by the order. So these statements are
planned for each look, and never by a plan that was kept for anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection

from checkpoints.errors import InvalidValue
from checkpoints.postgres.plans import planned_for_this

from ..queries import OPEN_CAP
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

_DUE = "coalesce(a.decide_by, a.deadline, 'infinity'::timestamptz)"
_SHAPE = "gp_shape(a.agent_version_id, a.tool, a.policy_version, a.risk, a.title)"
_ORDER: Final = {
    "risk": "gp_risk(a.risk), a.requested_at, a.id",
    "age": "a.requested_at, a.id",
    "deadline": f"{_DUE}, a.requested_at, a.id",
    "done": "coalesce(a.decided_at, a.requested_at), a.id",
}
# The order that a count walks in, else by age: without any the planner hopes to find enough of them
# wherever it begins.
_COUNTED_BY: Final = {"due": "deadline", "high": "risk"}


@dataclass(frozen=True, slots=True)
class Person:
    """Who looks into their own boxes: `user:7`, the user name, the names of their groups."""

    id: str
    user: str
    teams: tuple[str, ...] = ()

    @property
    def seats(self) -> list[str]:
        """What names them in a request's terms; `*` is any reviewer."""
        return [*names_of(self.user, self.teams)]

    @property
    def team_seats(self) -> list[str]:
        return [f"team:{team}" for team in self.teams]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody looks for; `alike` is a request whose equals are wanted."""

    workspace: UUID
    box: str = "open"
    sort: str = "risk"
    person: Person | None = None
    agent: str = ""
    q: str = ""
    alike: UUID | None = None

    @property
    def order(self) -> str:
        return "done" if self.box == "done" else self.sort


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
        """Whether `rows` are all of them, so that a sum over them is one over all."""
        return not self.more and self.total == len(self.rows)


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of a box; `searched` says that words were looked for in a part of it only."""

    entries: tuple[Entry, ...]
    next_cursor: str
    searched: bool = False


class _Found(NamedTuple):
    """A request in a window; equal ones have one `group`, `later`: it comes after a place."""

    id: UUID
    group: int | UUID
    later: bool
    due: datetime | None
    since: datetime


def _where(wanted: Wanted) -> tuple[list[str], list[Any]]:
    """Conditions of a box without those that no index helps with."""
    where: list[str] = ["a.workspace_id = %s::uuid"]
    params: list[Any] = [wanted.workspace]
    where.append(f"a.status {'<>' if wanted.box == 'done' else '='} 'pending'")
    if wanted.box in ("mine", "team"):
        if wanted.person is None:
            return ["false"], []
        seats = wanted.person.seats if wanted.box == "mine" else wanted.person.team_seats
        if not seats:
            return ["false"], []
        where.append("a.due_seats && %s::text[]")
        params.append(seats)
    if wanted.box == "mine" and wanted.person is not None:
        where.append("NOT %s::text = ANY(a.due_except)")
        params.append(wanted.person.id)
    if wanted.box == "due":
        # A clock that stands still for the statement, so that an index can be entered by it.
        where.append(f"{_DUE} < statement_timestamp() + make_interval(secs => {DUE_SECONDS})")
    if wanted.box == "high":
        where.append("gp_risk(a.risk) = 0")
    if wanted.agent:
        where.append(
            "a.agent_version_id IN (SELECT v.id FROM gp_agent_version v WHERE v.agent = %s::text)"
        )
        params.append(wanted.agent)
    if wanted.alike is not None:
        where.append(f"{_SHAPE} = (SELECT {_SHAPE} FROM gp_approval a WHERE a.id = %s::uuid)")
        params.append(wanted.alike)
    return where, params


def _window(
    wanted: Wanted, *, limit: int, after: UUID | None = None, beyond: UUID | None = None
) -> list[_Found]:
    """Requests in the order of the box, from after `after`; `later` are those after `beyond`.

    Equal requests are one group; what is of high risk stands alone, never hidden among others.
    """
    where, params = _where(wanted)
    keys = _ORDER[wanted.order]
    sign, direction = ("<", "DESC") if wanted.order == "done" else (">", "ASC")
    place = f"({keys}) {sign} (SELECT {keys} FROM gp_approval a WHERE a.id = %s::uuid)"
    if after is not None:
        where.append(place)
        params.append(after)
    order = ", ".join(f"{key} {direction}" for key in _split(keys))
    later, first = (place, [beyond]) if beyond is not None else ("true", [])
    sql = (
        f"SELECT a.id, {_SHAPE} AS shape, {later} AS later, gp_risk(a.risk) = 0 AS high, "
        "coalesce(a.decide_by, a.deadline) AS due, a.requested_at AS since "
        "FROM gp_approval a "
        f"WHERE {' AND '.join(where)} ORDER BY {order} LIMIT %s"
    )
    params = [*first, *params]
    if wanted.q:
        words = "%" + wanted.q.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        sql = (
            "SELECT x.id, x.shape, x.later, x.high, x.due, x.since "
            "FROM (SELECT y.*, row_number() OVER () AS n "
            f"FROM ({sql}) y) x JOIN gp_approval b ON b.id = x.id "
            "JOIN gp_thread th ON th.id = b.thread_id WHERE b.title ILIKE %s "
            "OR b.sentence ILIKE %s OR th.title ILIKE %s OR b.tool ILIKE %s "
            "OR b.id::text LIKE %s ORDER BY x.n LIMIT %s"
        )
        params += [SEARCHED, *(words for _ in range(5)), limit]
    else:
        params.append(limit)
    with connection.cursor() as cursor, planned_for_this():
        cursor.execute(sql, params)
        return [
            _Found(ident, ident if high else shape, bool(later), due, since)
            for ident, shape, later, high, due, since in cursor.fetchall()
        ]


def _split(keys: str) -> list[str]:
    """The keys of an order; commas inside brackets part nothing."""
    found, depth, begin = [], 0, 0
    for i, char in enumerate(keys):
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            found.append(keys[begin:i])
            begin = i + 1
    return [key.strip() for key in (*found, keys[begin:])]


def page(wanted: Wanted, *, cursor: str = "", limit: int = ENTRIES) -> Listed:
    """Entries of a box: two statements. Raises InvalidValue for a cursor of something else.

    Decided requests and those of one kind (`alike`) are not grouped.
    """
    window, after = _places(cursor)
    grouped = wanted.box != "done" and wanted.alike is None
    size = WINDOW if grouped else limit
    found = _window(wanted, limit=size + 1, after=window, beyond=after)
    full, found = len(found) > size, found[:size]
    entries = [alike for alike in _grouped(found, grouped) if alike[0].later]
    shown: list[list[UUID]] = []
    n = 0
    for alike in entries[:limit]:
        taken = [one.id for one in alike[: min(MEMBERS, max(ROWS - n, 1))]]
        shown.append(taken)
        n += len(taken)
        if n >= ROWS:
            break
    about = (
        rows([ident for taken in shown for ident in taken], workspace=wanted.workspace)
        if shown
        else {}
    )
    listed = tuple(
        Entry(
            tuple(about[i] for i in taken if i in about),
            len(alike),
            full and grouped and alike[0].group != alike[0].id,
            min((one.due for one in alike if one.due), default=None),
            min(one.since for one in alike),
        )
        for taken, alike in zip(shown, entries, strict=False)
        if any(i in about for i in taken)
    )
    more = ""
    if len(entries) > len(shown):
        more = f"{window or ''}.{shown[-1][0]}"
    elif full:
        more = f"{found[-1].id}."
    return Listed(listed, more, searched=bool(wanted.q))


def _grouped(found: Sequence[_Found], grouped: bool) -> list[list[_Found]]:
    """Equal requests beside each other, in their order."""
    entries: dict[object, list[_Found]] = {}
    for one in found:
        entries.setdefault(one.group if grouped else one.id, []).append(one)
    return list(entries.values())


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
    found = _window(wanted, limit=WALKED + 1)
    grouped = wanted.box != "done" and wanted.alike is None
    return [one.id for alike in _grouped(found, grouped) for one in alike]


def walk(wanted: Wanted, *, after: UUID | None, limit: int) -> tuple[list[UUID], str]:
    """(ids in the order of the box, the cursor of what comes next), not grouped; for the API."""
    if after is not None and after not in rows([after], workspace=wanted.workspace):
        raise InvalidValue("cursor", "is not a cursor of this list")
    found = [one.id for one in _window(wanted, limit=limit + 1, after=after)]
    return found[:limit], str(found[limit - 1]) if len(found) > limit else ""


def counts(workspace: UUID, person: Person | None) -> dict[str, int]:
    """How many wait in each box, up to COUNTED + 1: one statement; mine only with a person."""
    boxes = [box for box in BOXES if box != "done" and (person or box not in ("mine", "team"))]
    parts, params = [], []
    for box in boxes:
        where, given = _where(Wanted(workspace, box, person=person))
        order = _ORDER[_COUNTED_BY.get(box, "age")]
        parts.append(
            "(SELECT count(*) FROM (SELECT 1 FROM gp_approval a "
            f"WHERE {' AND '.join(where)} ORDER BY {order} LIMIT {COUNTED + 1}) x)"
        )
        params += given
    with connection.cursor() as cursor, planned_for_this():
        cursor.execute(f"SELECT {', '.join(parts)}", params)
        return dict(zip(boxes, cursor.fetchone(), strict=True))


def agents(workspace: UUID) -> list[str]:
    """The agents whose requests are among the oldest that wait."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT v.agent FROM (SELECT DISTINCT agent_version_id FROM (SELECT "
            "agent_version_id FROM gp_approval WHERE workspace_id = %s::uuid AND status = "
            "'pending' ORDER BY requested_at, id LIMIT %s) x) y JOIN gp_agent_version v "
            "ON v.id = y.agent_version_id ORDER BY v.agent",
            (workspace, WINDOW),
        )
        return [row[0] for row in cursor.fetchall()]
