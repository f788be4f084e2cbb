"""What people are sent about incidents: what is wrong, how many threads, and the way there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Final
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named

from .incident_kinds import (
    ATTENTION,
    BREAKER,
    DAMAGED,
    ESCALATED,
    FAILED,
    LOST,
    OVER_BUDGET,
    REMINDED,
    STUCK,
)
from .letters import LISTED, TRUST, Letter, line, subject

# What is wrong, as it begins a sentence.
HEADS: Final = {
    DAMAGED: "Record damaged",
    LOST: "Steps lost",
    BREAKER: "Stopped by a breaker",
    ATTENTION: "Needs attention",
    FAILED: "Failed",
    OVER_BUDGET: "Over budget",
    STUCK: "Stuck",
}
_WHY: Final = {
    REMINDED: "Your workspace snoozed it until now.",
    ESCALATED: "It is unassigned.",
}
FOOT: Final = (
    "Sign in and open the incident to assign it to yourself, snooze it or close it. "
    "Choose what you are notified of under Notifications."
)


@dataclass(frozen=True, slots=True)
class IncidentNews:
    """An incident as it is when its news leaves; `message` is why it leaves."""

    id: UUID
    message: str
    kind: str
    agent: str
    reason: str
    threads: int
    affected: int
    opened_at: datetime
    taken: bool


def incident_news(news: Sequence[UUID]) -> list[IncidentNews]:
    """Incidents that these rows of the outbox name and that are still open, each once."""
    rows = fetch_named(
        "SELECT DISTINCT ON (i.opened_at, i.id) i.id, n.kind AS message, i.kind, i.agent, "
        "i.reason, i.threads, i.affected, i.opened_at, i.taken_by <> '' AS taken "
        "FROM gp_outbox n JOIN gp_incident i ON i.id = n.incident_id "
        "WHERE n.id = ANY(%s::uuid[]) AND i.closed_at IS NULL "
        "ORDER BY i.opened_at, i.id, n.at DESC",
        (list(news),),
    )
    return [IncidentNews(*row) for row in rows]


def incident_letter(
    rows: Sequence[IncidentNews], rest: Letter | None = None, *, base: str
) -> Letter:
    """One or several incidents, each with its reason and the way there; then what else is new."""
    texts, items = [], []
    for one in rows[:LISTED]:
        facts = [line(one.reason), *_facts(one)]
        address = f"{base}{incident_path(one.id)}?src=mail"
        texts += [f"- {_headline(one)}", *(f"  {fact}" for fact in facts if fact), f"  {address}"]
        inner = "".join(f"<br>{escape(fact)}" for fact in facts if fact)
        items.append(f'<li><a href="{escape(address)}">{escape(_headline(one))}</a>{inner}</li>')
    more = f"and {len(rows) - LISTED} more" if len(rows) > LISTED else ""
    first = _headline(rows[0])
    head = first if len(rows) == 1 else f"{len(rows)} incidents: {first} and others"
    foot = f"{TRUST} {FOOT}" if any(one.kind == DAMAGED for one in rows) else FOOT
    text = "\n".join([head, "", *texts, more, "", foot, ""])
    html = (
        f"<h1>{escape(head)}</h1><ul>{''.join(items)}</ul><p>{escape(more)}</p>"
        f"<p>{escape(foot)}</p>"
    )
    if rest is not None:
        text, html = f"{text}\n{rest.text}", html + rest.html
    return Letter(subject(head), text, html)


def incident_path(incident: UUID | str) -> str:
    """The page of an incident."""
    return f"/incidents/{incident}/"


def _headline(one: IncidentNews) -> str:
    agent = line(one.agent, 100)
    if one.kind in (BREAKER, DAMAGED):
        return f"{HEADS[one.kind]}{f': {agent}' if agent else ''}"
    return f"{HEADS[one.kind]}: {one.threads:,} thread{'' if one.threads == 1 else 's'} of {agent}"


def _facts(one: IncidentNews) -> list[str]:
    since = f"since {one.opened_at.astimezone(UTC):%d %B %Y, %H:%M} UTC"
    still = f"{one.affected:,} still affected, " if one.affected != one.threads else ""
    # Somebody may have taken it since it was passed on: the letter says what holds now.
    why = "" if one.taken and one.message == ESCALATED else _WHY.get(one.message, "")
    return [f"{still}{since}", "It is assigned." if one.taken else "", why]
