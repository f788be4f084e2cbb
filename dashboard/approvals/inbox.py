"""The inbox: the boxes, one of them as a list, and the way from one request to the next."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from approvals import queries as gates
from approvals.inbox import boxes as inbox
from approvals.inbox.boxes import BOXES, SORTS, Listed, Person, Wanted
from checkpoints import queries
from dashboard.errors import Invalid
from dashboard.fields.filters import PAGE, given_at, read
from dashboard.fields.parameters import TEXT_MAX
from dashboard.fields.shapes import ListPosition
from dashboard.identity.permissions import may
from dashboard.threads.page.rights import Class, Roles, rights_of

from .filters import REQUESTS

# What /approvals/ shows without a word: the same for everybody, so it can be pushed.
BOX, SORT = "open", "risk"
FILTERS: Final = given_at(REQUESTS, PAGE)
# Box -> (its name, what it says when it is empty, and below that).
WORDS: Final = {
    "mine": (
        "For me",
        "Nothing is waiting for you",
        "Requests you can decide appear here immediately.",
    ),
    "team": (
        "My team",
        "Nothing is waiting for your team",
        "Requests for your teams, including those you have already approved.",
    ),
    "due": (
        "Due",
        "Nothing is due within the hour",
        "Requests appear here an hour before their deadline.",
    ),
    "high": (
        "High risk",
        "No high-risk requests",
        "High-risk requests are decided one by one, each on its own page.",
    ),
    "open": (
        "All open",
        "Nothing is waiting for a decision",
        "When an agent stops at a gate, its request appears here immediately.",
    ),
    "done": (
        "Done",
        "Nothing decided yet",
        "Decisions stay here: who made them, when and why.",
    ),
}
SORTED: Final = {
    "risk": "Highest risk first, then oldest.",
    "age": "Oldest first.",
    "deadline": "Nearest deadline first.",
}
PERSONAL: Final = ("mine", "team")


@dataclass
class InboxPage:
    """The reads of one look at the inbox, each done at most once.

    `values` are those of its FILTERS that are given, by name. `person` is None where the look is
    shared by everybody with the same roles.
    """

    workspace: UUID
    values: Mapping[str, Any] = field(default_factory=dict)
    sort: str = SORT
    person: Person | None = None
    cursor: str = ""

    topic = "approvals"

    @property
    def box(self) -> str:
        """One of BOXES."""
        return str(self.values.get("box", BOX))

    @property
    def texts(self) -> dict[str, str]:
        """{filter: its value as addresses have it}."""
        return {
            one.name: one.kind.text(self.values[one.name])
            for one in FILTERS
            if one.name in self.values
        }

    @property
    def narrows(self) -> list[str]:
        """Phrases for the filters that narrow the box; each continues “No request here”."""
        texts = self.texts
        return [
            one.phrase.format(texts[one.name])
            for one in FILTERS
            if one.phrase and one.name in texts
        ]

    @cached_property
    def _mark(self) -> tuple[int, Any]:
        return gates.inbox_mark(workspace=self.workspace)

    @property
    def seq(self) -> int:
        """The database's clock at the beginning of this look, in microseconds."""
        return self._mark[0]

    @property
    def mark(self) -> Any:
        """The mark that shows the hub whether the inbox, or what stands on every page, changed."""
        return self._mark[1], self.unworked

    @property
    def wanted(self) -> Wanted:
        """The query for the floor below."""
        return Wanted(self.workspace, sort=self.sort, person=self.person, **self.values)

    @property
    def filtered(self) -> bool:
        """True if filters make this another list than the one that is pushed."""
        return self.query() != ""

    def query(self, **other: Any) -> str:
        """The address behind `?` of this list, or of one that differs in some words."""
        words = {"box": self.box, "sort": self.sort, **self.texts, "cursor": self.cursor, **other}
        usual = {"box": BOX, "sort": SORT}
        return urlencode({k: v for k, v in words.items() if v and v != usual.get(k)})

    @property
    def trail(self) -> str:
        """The query that carries this list to a request's page and back; never empty."""
        query = self.query(cursor="")
        return query if query.startswith("box=") else f"box={self.box}{query and '&'}{query}"

    @cached_property
    def listed(self) -> Listed:
        return inbox.page(self.wanted, cursor=self.cursor)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        return inbox.counts(self.workspace, self.person)

    @cached_property
    def unworked(self) -> queries.Unworked | None:
        return queries.unworked(workspace=self.workspace)

    @cached_property
    def open_approvals(self) -> int:
        return gates.open_count(workspace=self.workspace)

    @cached_property
    def _agents(self) -> dict[str, list[str]]:
        return inbox.agents(self.workspace)

    @property
    def agents(self) -> list[str]:
        """The agents whose requests wait, by name."""
        return sorted({name for names in self._agents.values() for name in names})

    @property
    def frameworks(self) -> list[str]:
        """The frameworks of these agents, as they announce them."""
        return sorted(filter(None, self._agents), key=str.casefold)

    def position(self, approval_id: UUID) -> ListPosition | None:
        """A request's position in this list, with those before and after it; None if not in it."""
        ids = inbox.in_order(self.wanted)
        if approval_id not in ids:
            return None
        i = ids.index(approval_id)
        return ListPosition(
            i + 1,
            min(len(ids), inbox.WALKED),
            len(ids) > inbox.WALKED,
            ids[i - 1] if i else None,
            ids[i + 1] if i + 1 < len(ids) else None,
        )

    def following(self, approval_id: UUID, wanted: str = "") -> tuple[UUID | None, int]:
        """(what is to be decided next once this one is, how many are left then, up to WALKED).

        `wanted` is the id of the one that came next when it was decided; it may be gone by now.
        """
        ids = inbox.in_order(self.wanted)
        i = ids.index(approval_id) if approval_id in ids else 0
        rest = [ident for ident in ids if ident != approval_id]
        i = next((n for n, ident in enumerate(rest) if str(ident) == wanted), i)
        return (rest[i] if i < len(rest) else rest[0]) if rest else None, len(rest)


def page_from(
    workspace: UUID, person: Person | None, payload: Mapping[str, str], *, cursor: str = ""
) -> InboxPage:
    """The list that an address names; words that it does not know stand for the usual ones."""
    sort = payload.get("sort", "")
    values: dict[str, Any] = {}
    for one in FILTERS:
        with suppress(Invalid):
            values |= read([one], {one.name: _text(payload.get(one.name, ""))})
    return InboxPage(
        workspace, values, sort=sort if sort in SORTS else SORT, person=person, cursor=cursor
    )


def _text(raw: str) -> str:
    # NUL cannot be asked of PostgreSQL; nothing that is stored contains it.
    return raw.replace("\0", "")[:TEXT_MAX].strip()


def nav_approvals(page: InboxPage, roles: Roles) -> dict[str, Any]:
    """Region nav-approvals."""
    return {"open_approvals": page.open_approvals}


def no_worker(page: InboxPage, roles: Roles) -> dict[str, Any]:
    """Region no-worker."""
    return {"unworked": page.unworked}


def inbox_boxes(page: InboxPage, roles: Roles) -> dict[str, Any]:
    """Region inbox-boxes, a person's own: fetched by their page, never pushed."""
    counts = page.counts
    shown = [box for box in BOXES if box not in PERSONAL or may(Class(roles), "decide")]
    return {
        "boxes": [
            {
                "name": box,
                "word": WORDS[box][0],
                "n": min(counts[box], inbox.COUNTED) if box in counts else None,
                "more": counts.get(box, 0) > inbox.COUNTED,
                "query": page.query(box=box, alike="", cursor="") or f"box={box}",
                "current": box == page.box,
            }
            for box in shown
        ]
    }


def inbox_list(page: InboxPage, roles: Roles) -> dict[str, Any]:
    """Region inbox-list."""
    rights = rights_of(roles)
    _, empty, hint = WORDS[page.box]
    return {
        "entries": page.listed.entries,
        "box": page.box,
        "filtered": page.filtered,
        "narrows": " and ".join(page.narrows),
        "q": page.texts.get("q", ""),
        "alike": page.values.get("alike"),
        "empty": empty,
        "empty_hint": hint,
        "sorted_words": "Newest decision first." if page.box == "done" else SORTED[page.sort],
        "searched": inbox.SEARCHED if page.listed.searched else 0,
        "next_query": page.query(cursor=page.listed.next_cursor) if page.listed.next_cursor else "",
        "trail": page.trail,
        "without_alike": page.query(alike="", cursor=""),
        "all_query": page.query(cursor="", **{n: "" for n in page.texts if n != "box"}),
        "narrow_query": page.query(cursor="", alike=""),
        "ticks": rights.decide and page.box != "done",
        "rights": rights,
    }
