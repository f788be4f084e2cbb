"""Questions to the record of a workspace, answered along an index however many events there are.

A question takes one of four walks: a thread's own log; decisions, or all that is no step, by their
time; and for everything else the feed. Each statement looks at WINDOW events at most, and an answer
at LOOKS times as many: then it says that older ones may match too, and where to look on.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from checkpoints.errors import InvalidValue
from checkpoints.postgres.list_conditions import condition, narrowing, parameters
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.plans import planned_for_this
from checkpoints.postgres.sql_files import sql_file
from checkpoints.states import EventKind
from checkpoints.tables.readers import decoded

from .cursors import BEFORE, BEHIND, LONG_AGO, NEVER, XID_MAX, Position, read_cursor, write_cursor
from .kinds import DECISIONS, EFFECTS, NOTABLE, OF_REQUESTS, literal
from .outcomes import Outcomes, outcomes_of
from .threads import threads_naming, threads_of

_KINDS = {
    "decisions": literal(DECISIONS),
    "notable": literal(NOTABLE),
    "effects": literal(EFFECTS),
}
WINDOW: Final = 10_000
LOOKS: Final = 5
COUNT_CAP: Final = 1_000
FIRST: Final = COUNT_CAP + COUNT_CAP // 2
AT_ONCE: Final = 2_000  # events of one statement, oldest first


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the events of a workspace; a value that is empty narrows nothing.

    `kinds` are whole kinds; () stands for all of them. `actors` are as logs name them; one
    that came through a person's token or hook is found by the person. `text` is looked for in
    proposals and in what the event says. `payee` and the amounts are looked for in a
    proposal, in what reviewers edited it to, and in what an effect was called with, under the names
    in `payees` and `amounts`, at any depth.
    """

    workspace: UUID
    thread: UUID | None = None
    agent: str = narrowing("", "th.agent = %(agent)s::text")
    kinds: tuple[str, ...] = NOTABLE
    actors: tuple[str, ...] | None = narrowing(
        None,
        "(l.actor = ANY(%(actors)s::text[]) "
        "OR split_part(l.actor, '/', 1) = ANY(%(actors)s::text[]))",
    )
    node: str = narrowing(
        "",
        "(%(node)s::text IN (l.data ->> 'node', a.node) OR l.data -> 'nodes' ? %(node)s::text)",
    )
    step: int | None = narrowing(
        None,
        "%(step)s::text IN (l.data ->> 'step', a.step::text, l.data -> 'checkpoint' ->> 'step')",
    )
    since: datetime | None = None
    until: datetime | None = None
    tool: str = narrowing("", "%(tool)s::text IN (l.data ->> 'tool', a.tool)")
    decision: str = narrowing("", "l.data ->> 'verdict' = %(decision)s::text")
    risk: str = narrowing("", "a.risk = %(risk)s::text")
    text: str = ""
    payee: str = ""
    least: Decimal | None = None
    most: Decimal | None = None
    payees: tuple[str, ...] = ()
    amounts: tuple[str, ...] = ()

    @property
    def of_proposals(self) -> bool:
        """True where only events of a request or an effect can answer it."""
        amounts = self.least is not None or self.most is not None
        return bool(self.decision or self.risk or self.payee or amounts)

    @property
    def searched(self) -> tuple[str, ...]:
        """The kinds that can answer it; () stands for all of them.

        Without kinds of its own a question about a verdict or a risk is one about decisions, and
        one about a payee or an amount is also about effects: some had no request.
        """
        if not self.of_proposals or self.kinds not in ((), NOTABLE):
            return self.kinds
        decided = self.decision or (self.risk and self.kinds == NOTABLE)
        return DECISIONS if decided else OF_REQUESTS

    @property
    def walk(self) -> str:
        """The walk that looks at the fewest events."""
        kinds = set(self.searched)
        if self.thread is not None:
            return "thread"
        if kinds and kinds <= set(DECISIONS):
            return "decisions"
        return "notable" if kinds and kinds <= set(NOTABLE) else "feed"


NEWEST: Final = sql_file(__file__, beyond="<", way="DESC", narrowed=condition(Question), **_KINDS)
OLDEST: Final = sql_file(__file__, beyond=">", way="ASC", narrowed=condition(Question), **_KINDS)


@dataclass(frozen=True, slots=True)
class RecordRow:
    """An event that answers a question, with the request that it is about.

    `checkpoint` is the number of the thread's newest checkpoint when it happened. `args` are what
    was proposed, of an edit what it made of that, of an effect what it was called with. `request`
    is the title; of events about no request `approval` is None.
    """

    thread: UUID
    seq: int
    kind: str
    v: int
    actor: str
    at: datetime
    xid: int
    data: Any
    salt: bytes
    data_hash: bytes
    prev_hash: bytes
    hash: bytes
    agent: str
    title: str
    chain: UUID
    imported: bool
    checkpoint: int | None
    approval: UUID | None
    node: str
    step: int | None
    tool: str
    risk: str
    request: str
    args: Any

    @property
    def decision(self) -> str:
        """The verdict that the event records; empty where it records none."""
        verdict = self.data.get("verdict") if isinstance(self.data, dict) else None
        return verdict if isinstance(verdict, str) else ""

    @property
    def names_approval(self) -> str | None:
        """The request that the event names itself; of the others `approval` follows the effect."""
        named = self.data.get("approval") if isinstance(self.data, dict) else None
        return named if self.approval is not None and isinstance(named, str) else None


@dataclass(frozen=True, slots=True)
class Answers:
    """Events newest first; `count` is how many match from here on, at most COUNT_CAP + 1, among
    those looked at, and `searched_all` says whether these were all."""

    rows: tuple[RecordRow, ...]
    next_cursor: str
    count: int
    searched_all: bool
    outcomes: Mapping[UUID, Outcomes] = field(default_factory=dict)

    def outcomes_of(self, row: RecordRow) -> Outcomes:
        """Effects that came of the request that an event belongs to."""
        result = None if row.approval is None else self.outcomes.get(row.approval)
        return Outcomes() if result is None else result


def answer(question: Question, *, cursor: str = "", limit: int = 50) -> Answers:
    """A page of events, newest first; raises InvalidValue for a cursor of another question."""
    position = read_cursor(question.walk, cursor).position if cursor else BEHIND
    rows: list[RecordRow] = []
    count = seen = 0
    edge: Position | None = None
    with planned_for_this():
        params = _params(question)
        for window in _windows():
            if seen == FIRST:  # few have answered it: an index may know where the others are
                params["threads"] = _threads(question)
            left = limit + 1 - len(rows)
            n, some, edge = _look(question, NEWEST, params, position, left, window)
            count = min(count + n, COUNT_CAP + 1)
            rows += some
            seen += window
            enough = count > COUNT_CAP or seen >= WINDOW
            if edge is None or (len(rows) > limit and enough):
                break
            position = edge
    last = position_of(rows[limit - 1]) if len(rows) > limit else edge
    shown = tuple(rows[:limit])
    return Answers(
        rows=shown,
        next_cursor=write_cursor(question.walk, last) if last else "",
        count=count,
        searched_all=edge is None,
        outcomes=outcomes_of(
            (row.approval for row in shown if row.approval), workspace=question.workspace
        ),
    )


def _threads(question: Question) -> list[UUID] | None:
    """All threads with an answer; None where only a walk through all events finds them."""
    if question.walk not in ("decisions", "notable"):
        return None
    threads = None
    if question.payee:
        threads = threads_naming(question.payee, workspace=question.workspace)
    if question.agent and threads is None:
        threads = threads_of(question.agent, workspace=question.workspace)
    return threads


def _windows() -> Iterator[int]:
    """Numbers of events that the statements of an answer look at."""
    # A question that most events answer is counted to its end in a few of them.
    first = min(FIRST, WINDOW)
    yield first
    if first < WINDOW:
        yield WINDOW - first
    yield from itertools.repeat(WINDOW, LOOKS - 1)


def oldest_first(
    question: Question, position: Position = BEFORE, *, moment: str = ""
) -> Iterator[list[RecordRow]]:
    """All events behind a position, those of one statement at a time: often none of them fits.

    With a `moment` only those that stood in the record then, whatever is committed meanwhile.
    """
    with planned_for_this():
        params = _params(question) | {"moment": moment}
    edge: Position | None = position
    while edge is not None:
        with planned_for_this():
            _, rows, edge = _look(question, OLDEST, params, edge, AT_ONCE, AT_ONCE)
        yield rows


def moment_now() -> str:
    """A text for the events that are committed by now: they stay the same for each later walk."""
    (row,) = fetch_named(NEWEST.moment)
    return str(row.moment)


def position_of(row: RecordRow) -> Position:
    """The place of an event in any walk."""
    return Position(row.at, row.thread, row.seq, row.xid)


def _look(
    question: Question,
    sql: Any,
    params: dict[str, Any],
    position: Position,
    limit: int,
    window: int,
) -> tuple[int, list[RecordRow], Position | None]:
    """(how many match, the first of them, the last event looked at) behind a position."""
    walk = {
        "thread": sql.along_thread,
        "decisions": sql.along_verdicts if question.decision else sql.along_decisions,
        "notable": sql.along_notable,
        "feed": sql.along_feed,
    }[question.walk]
    if params["threads"] is not None:
        walk = sql.along_named
    at = {
        "at_time": position.at,
        "at_thread": position.thread,
        "at_seq": position.seq,
        "at_xid": position.xid,
    }
    result = fetch_named(
        f"WITH looked AS MATERIALIZED (SELECT w.*, row_number() OVER () AS place FROM ({walk}) w), "
        f"matched AS MATERIALIZED ({sql.joined}) {sql.matched}",
        params | at | {"limit": limit, "window": window, "cap": max(COUNT_CAP + 1, limit)},
    )
    first = result[0]
    edge = None
    if first.edge_seq is not None:
        edge = Position(first.edge_at, first.edge_thread, first.edge_seq, first.edge_xid)
    return first.n, [_row(r) for r in result if r.seq is not None], edge


def _row(r: Any) -> RecordRow:
    return RecordRow(
        thread=r.thread,
        seq=r.seq,
        kind=r.kind,
        v=r.v,
        actor=r.actor,
        at=r.at,
        xid=r.xid,
        data=decoded(r.data),
        salt=bytes(r.salt),
        data_hash=bytes(r.data_hash),
        prev_hash=bytes(r.prev_hash),
        hash=bytes(r.hash),
        agent=r.agent,
        title=r.title,
        chain=r.chain,
        imported=r.imported,
        checkpoint=_whole(r.checkpoint),
        approval=r.approval,
        node=r.node or "",
        step=_whole(r.step),
        tool=r.tool or "",
        risk=r.risk or "",
        request=r.request or "",
        args=decoded(r.args),
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() else None


def _params(question: Question) -> dict[str, Any]:
    params: dict[str, Any] = parameters(question) | {
        "workspace": question.workspace,
        "thread": question.thread,
        "kinds": list(question.searched) or None,
        "since": question.since or LONG_AGO,
        "until": question.until or NEVER,
        "text": question.text,
        "in_json": json.dumps(question.text, ensure_ascii=False)[1:-1],
        "payee": question.payee,
        "least": question.least,
        "most": question.most,
        "payees": list(question.payees),
        "amounts": list(question.amounts),
        "first_xid": 0,
        "last_xid": XID_MAX,
        "moment": "",
        "threads": None,
    }
    dated = question.since is not None or question.until is not None
    if question.walk == "feed" and dated:
        (xids,) = fetch_named(NEWEST.xids, params)
        params |= {"first_xid": int(xids.first), "last_xid": int(xids.last)}
    return params


def expand(words: list[str]) -> tuple[str, ...]:
    """The kinds that words name: a kind, or a noun for all kinds of it; InvalidValue for others."""
    kinds: list[str] = []
    for word in words:
        named = [str(k) for k in EventKind if word in (str(k), str(k).partition(".")[0])]
        if not named:
            raise InvalidValue("kind", f"{word[:80]!r} is not a kind of event")
        kinds += named
    return tuple(dict.fromkeys(kinds))
