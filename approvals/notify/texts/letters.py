"""Texts of mails about requests: a summary and the way to the request; pure.

Everything that agents or people wrote is text: hidden characters stand as escapes, line breaks in a
headline as spaces, addresses are no links, and what is cut says so. A message carries no secret and
decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any, Final
from uuid import UUID

from approvals.gates.prior_effects import PriorEffects, PriorRow
from approvals.queries import ApprovalRow
from approvals.rules.terms import terms_of
from checkpoints.unseen import plain

SUBJECT_MAX: Final = 120
LISTED: Final = 50
PRIOR_SHOWN: Final = 5
NONE_BEFORE: Final = PriorEffects()
_HEADS: Final = {
    "approval.requested": "Approval needed",
    "approval.turn": "Your turn to approve",
    "approval.reminder": "Still waiting for a decision",
    "approval.escalated": "Escalated to you",
    "approval.decided": "Decided",
    "approval.expired": "Expired without a decision",
    "approval.withdrawn": "Withdrawn",
}
TRUST: Final = (
    "Do not rely on what the record says from there on. Keep the database as it is, "
    "and compare it with your last anchor and backup."
)
LATE: Final = (
    "Until they are, nothing outside this installation shows whether the end of the "
    "record was cut off."
)
FILLING: Final = (
    "Until it is, each step more brings hot agents nearer to their stop. Nothing that is in "
    "PostgreSQL is in danger."
)
LOST: Final = (
    "The hot store has lost them. Nothing that is in PostgreSQL is affected, and the thread "
    "continued from there; each effect was recorded there before it happened. Look at the disk of "
    "the hot store and its log."
)
BEHIND: Final = (
    "Until they are, these steps are in no page and no record, and lost if the disk of the hot "
    "store is."
)
DRAINED: Final = "Nothing more has to be done."
WANTED: Final = "Start one that serves this queue. Until then nothing there continues."
# Of several alarms the first kind of these is the headline.
ALARM_TEXTS: Final = {
    "record.damaged": ("A record is damaged", TRUST),
    "steps.lost": ("Steps of a hot agent were lost", LOST),
    "anchors.late": ("Anchors are not delivered", LATE),
    "hot_store.filling": ("The hot store has to be drained", FILLING),
    "hot_store.late": ("Steps wait too long in the hot store", BEHIND),
    "hot_store.drained": ("The hot store is drained again", DRAINED),
    "workers.wanted": ("Work waits for a worker", WANTED),
}
FOOT: Final = (
    "Neither this message nor its link decides anything: sign in, review the request "
    "and decide there. Nobody reads replies to this message."
)


@dataclass(frozen=True, slots=True)
class Letter:
    """A message for people: headline, text, and the same as simple HTML."""

    subject: str
    text: str
    html: str


@dataclass(frozen=True, slots=True)
class Alarm:
    """A damaged record: a thread, or with None the workspace itself; or another kind of ALARMS."""

    thread: UUID | None
    title: str
    what: str
    found_at: datetime
    kind: str = "record.damaged"


def line(text: object, most: int = 300) -> str:
    """Somebody's text as one line that hides nothing; what is cut is counted.

    Mail programs make links of addresses, so those of agents are written as none: the only links of
    a message are ours.
    """
    shown = plain(" ".join(str(text).split())).replace("://", "[:]//")
    return shown if len(shown) <= most else f"{shown[:most]}… ({len(shown) - most} more characters)"


def link(base: str, approval: UUID) -> str:
    """The page of a request, as messages name it."""
    return f"{base}/approvals/{approval}/?src=mail"


def letter(
    row: ApprovalRow,
    kind: str,
    *,
    base: str,
    now: datetime,
    approved: tuple[int, int] = (0, 1),
    prior: PriorEffects = NONE_BEFORE,
) -> Letter:
    """One news of one request; `approved` are how many people have, and how many are needed.

    `prior` are the effects of the same node that were done before it asked.
    """
    facts = _facts(row, kind, now) + _done_before(prior)
    if row.open and approved[1] > 1:
        facts.append(("Approved so far", f"{approved[0]} of {approved[1]} people"))
    head, address = line(row.headline), link(base, row.id)
    call = "Review and decide" if row.open else "View it"
    text = "\n".join(
        [head, "", *(f"{n}: {v}" for n, v in facts), "", f"{call}: {address}", "", FOOT]
    )
    items = "".join(f"<li>{escape(n)}: <strong>{escape(v)}</strong></li>" for n, v in facts)
    html = (
        f"<h1>{escape(head)}</h1><ul>{items}</ul>"
        f'<p><a href="{escape(address)}">{call}</a></p><p>{escape(FOOT)}</p>'
    )
    return Letter(subject(f"{_HEADS.get(kind, 'News')}: {head}"), f"{text}\n", html)


def digest(rows: Sequence[tuple[ApprovalRow, str]], *, base: str, now: datetime) -> Letter:
    """Several news as one message: what waits, the most urgent first."""
    order = sorted(rows, key=lambda one: one[0].decide_by or datetime.max.replace(tzinfo=UTC))
    high = sum(1 for row, _ in rows if row.risk == "high")
    head = f"{len(rows)} requests" + (f", {high} of high risk" if high else "")
    shown, left = order[:LISTED], len(order) - LISTED
    texts, items = [], []
    for row, kind in shown:
        facts = ", ".join(f"{n.lower()} {v}" for n, v in _facts(row, kind, now, short=True))
        message, address = f"{line(row.headline, 160)} ({facts})", link(base, row.id)
        texts += [f"- {message}", f"  {address}"]
        items.append(f'<li><a href="{escape(address)}">{escape(message)}</a></li>')
    inbox = f"{base}/approvals/?src=mail"
    more = [f"and {left} more in the inbox"] if left > 0 else []
    text = "\n".join([head, "", *texts, *more, "", f"Open the inbox: {inbox}", "", FOOT])
    html = (
        f"<h1>{escape(head)}</h1><ul>{''.join(items)}</ul>"
        + "".join(f"<p>{escape(one)}</p>" for one in more)
        + f'<p><a href="{escape(inbox)}">Open the inbox</a></p><p>{escape(FOOT)}</p>'
    )
    return Letter(subject(f"{head} to review"), f"{text}\n", html)


def alarm(alarms: Sequence[Alarm], rest: Letter | None = None, *, base: str) -> Letter:
    """That records were altered: which, where, and the way there; then what else is new."""
    kinds = [one.kind for one in alarms]
    head, trust = ALARM_TEXTS[next(kind for kind in ALARM_TEXTS if kind in kinds)]
    if (n_damaged := kinds.count("record.damaged")) > 1:
        head = f"{n_damaged} records are damaged"
    texts, items = [], []
    for one in alarms[:LISTED]:
        about = f"{line(one.title, 160) or one.thread}: {line(one.what)}"
        when = f"found {one.found_at.astimezone(UTC):%d %B %Y, %H:%M} UTC"
        address = f"{base}{damage_path(one.thread)}"
        texts += [f"- {about} ({when})", f"  {address}"]
        items.append(f'<li><a href="{escape(address)}">{escape(about)}</a> ({when})</li>')
    more = f"and {len(alarms) - LISTED} more" if len(alarms) > LISTED else ""
    text = "\n".join([head, "", *texts, more, "", trust, ""])
    html = f"<h1>{head}</h1><ul>{''.join(items)}</ul><p>{escape(more)}</p><p>{escape(trust)}</p>"
    if rest is not None:
        text, html = f"{text}\n{rest.text}", html + rest.html
    return Letter(subject(f"{head}: {line(alarms[0].title)}"), text, html)


def damage_path(thread: UUID | None) -> str:
    """The page that shows the damage of a thread, or of a workspace's own log."""
    return f"/threads/{thread}/" if thread else "/admin/"


def trial(name: str, *, base: str) -> Letter:
    """Write the test message with which an admin tries an endpoint."""
    message = f"This is a test of the endpoint {line(name)!r}. It works."
    text = f"{message}\n\n{base}/\n"
    return Letter(subject("A test of Gatepost's notifications"), text, f"<p>{escape(message)}</p>")


def amount(args: Any) -> str:
    """The amount that the arguments name, with its currency: `48200.00 EUR`; else empty."""
    if not isinstance(args, dict):
        return ""
    for name in ("amount", "total", "price", "budget"):
        value = args.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
            currency = args.get("currency")
            return line(f"{value} {currency}" if isinstance(currency, str) else value, 60)
    return ""


def _facts(
    row: ApprovalRow, kind: str, now: datetime, *, short: bool = False
) -> list[tuple[str, str]]:
    results = [("Amount", amount(row.shown_args)), ("Risk", _risk(row, short))]
    if row.open:
        results.append(("Decide by", _until(row.decide_by, now)))
    else:
        results.append(("Outcome", row.outcome or row.status))
        if row.decided_by_name:
            results.append(("By", line(row.decided_by_name, 120)))
    if kind == "approval.turn" and row.open and row.standing_args is not None:
        results.append(("Changed", "it was edited; earlier approvals no longer count"))
    if not short:
        results.append(("Asked by", f"{line(row.agent, 100)}, in {line(row.thread_title, 160)}"))
        if row.tool:
            results.append(("Tool", line(row.tool, 200)))
        if why := terms_of(row.terms).rule:
            results.append(("Why you are asked", line(why)))
    return [(name, value) for name, value in results if value]


def _done_before(prior: PriorEffects) -> list[tuple[str, str]]:
    shown = [
        ("Done before by the same node", f"{line(one.sentence or one.tool, 160)}, {_when(one)}")
        for one in prior.rows[:PRIOR_SHOWN]
    ]
    left = len(prior.rows) - PRIOR_SHOWN
    if left > 0:
        more = f"{left} more" if prior.complete else f"more than {left} more"
        shown.append(("Done before by the same node", more))
    return shown


def _when(one: PriorRow) -> str:
    return f"{one.at.astimezone(UTC):%d %B %Y, %H:%M} UTC: {one.fate}"


def _risk(row: ApprovalRow, short: bool) -> str:
    if short or not row.effect:
        return row.risk
    return f"{row.risk}; {'it can be undone' if row.undo else 'it cannot be undone'}"


def _until(at: datetime | None, now: datetime) -> str:
    if at is None:
        return ""
    minutes = max(int((at - now).total_seconds() // 60), 0)
    left = f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
    if minutes >= 48 * 60:
        left = f"{minutes // 1440} days"
    return f"{at.astimezone(UTC):%d %B %Y, %H:%M} UTC (in {left})"


def subject(text: str) -> str:
    """One line, so that nothing can pass for another header; and not too long."""
    shown = line(text, 10_000)
    return shown if len(shown) <= SUBJECT_MAX else f"{shown[: SUBJECT_MAX - 1]}…"
