"""Write values of the records as HTML: escaped, hidden characters named, all of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from django.db import models
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals import queries as approvals
from checkpoints import queries
from checkpoints.state import marked as exact
from dashboard.identity.people import people
from dashboard.wording import sentences
from dashboard.wording.events import event_sentence
from dashboard.wording.text import number, prose, visible
from dashboard.wording.young_accounts import young_accounts

EMPTY = "–"
SHORT = 120  # characters of a text in a list
LONGEST = 300_000  # characters of one value on a page; a state may have millions
ACTORS = {"actor", "started_by", "wish_by", "created_by", "decided_by", "reviewer"}
ACTORS |= {"made_by", "revoked_by", "recipient", "set_by", "lifted_by"}
# Columns that hold sentences: why something happened, failed or was done.
SENTENCES = {"status_reason", "reason", "lift_reason", "close_reason", "error", "comment", "what"}
# Columns that name a row with a page of its own.
LINKS = {
    "thread_id": "checkpoints_thread",
    "parent_thread": "checkpoints_thread",
    "base": "checkpoints_thread",
    "agent_version_id": "checkpoints_agentversion",
    "approval_id": "approvals_approval",
    "endpoint_id": "approvals_endpoint",
    "workspace_id": "checkpoints_workspace",
}


@dataclass(frozen=True, slots=True)
class PageLookups:
    """Names, titles, imports and damages, read once for the rows of one page."""

    people: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[UUID, str] = field(default_factory=dict)
    imports: Mapping[UUID, tuple[int, int]] = field(default_factory=dict)
    damaged: Mapping[UUID, int] = field(default_factory=dict)


NOTHING = PageLookups()


def prepare(rows: Sequence[Any], actors: Iterable[str], threads: Iterable[UUID]) -> None:
    """Look up names and titles once for all rows."""
    wanted = list(threads)
    titles, imports = (queries.titles(wanted), queries.imports(wanted)) if wanted else ({}, {})
    payload = PageLookups(people(actors), titles, imports, _damaged(rows))
    for row in rows:
        row.lookups = payload


def _damaged(rows: Sequence[Any]) -> dict[UUID, int]:
    """{record: from which event on it is damaged} of the records that these rows are part of."""
    wanted = list({row.part_of for row in rows if getattr(row, "part_of", None)})
    if not wanted:
        return {}
    if rows[0]._meta.model_name == "workspaceevent":
        return queries.workspaces_damaged_from(wanted)
    return queries.damaged_from(wanted)


def _damaged_from(row: Any) -> int | None:
    record: UUID | None = getattr(row, "part_of", None)
    return None if record is None else description(row).damaged.get(record)


def marked(row: Any, value: Any) -> Any:
    """The first value of a row in a list, with a red mark where its record is damaged."""
    since = _damaged_from(row)
    if since is None:
        return value
    is_event = row._meta.model_name in ("event", "workspaceevent")
    if is_event and row.seq < since:
        return value
    word = "untrusted" if is_event else "record damaged"
    return format_html('<strong class="damaged">{}</strong> {}', word, value)


def damage(row: Any) -> str:
    """Describe the damage of the record that a row is part of, as a sentence; empty if none."""
    since = _damaged_from(row)
    if since is None:
        return ""
    of_workspace = row._meta.model_name == "workspaceevent"
    find = queries.workspace_verification if of_workspace else queries.verification
    result = find(row.part_of)
    return f"The record is damaged from event {since} on. {result.what}" if result else ""


def cell(row: Any, name: str) -> Any:
    """A value in a list: short, on one line."""
    value = getattr(row, name)
    if value is None or value == "":
        return EMPTY
    if name in ACTORS:
        return person(row, value)
    if name == "thread_id":
        title = description(row).titles.get(value) or str(value)[-8:]
        return _link(name, value, _cut(title))
    if isinstance(value, datetime):
        return _time(value, "seconds")
    if name in LINKS:
        return _link(name, value, f"… {str(value)[-8:]}")
    if isinstance(value, bytes | memoryview):
        return _code(f"{bytes(value).hex()[:12]}…")
    if isinstance(value, list):
        return visible(_cut(", ".join(map(str, value))) or EMPTY)
    if isinstance(value, int) and not isinstance(value, bool):
        return number(value)
    text = str(value)
    if name in ("fingerprint", "proposal_hash", "sha256"):
        return _code(f"{text[:12]}…")
    return (prose if name in SENTENCES else visible)(_cut(text))


def full(row: Any, name: str) -> Any:
    """A value on the page of its row: all of it."""
    value = getattr(row, name)
    if value is None or value == "":
        return EMPTY
    column = row._meta.get_field(name)
    if isinstance(column, models.JSONField):
        return _block(json.dumps(exact.shown(value), ensure_ascii=False, indent=2))
    if isinstance(value, bytes | memoryview):
        return _code(bytes(value).hex())
    if isinstance(value, datetime):
        return _time(value, "microseconds")
    if name in ACTORS:
        return format_html("{} <code>{}</code>", person(row, value), visible(value))
    if name == "user_id":
        return person(row, f"user:{value}")
    if name in LINKS:
        title = description(row).titles.get(value, "") if name == "thread_id" else ""
        named = format_html("{} ", visible(title)) if title else ""
        return format_html("{}{}", named, _link(name, value, str(value)))
    if isinstance(value, UUID):
        return _code(str(value))
    if name in SENTENCES:
        return _block(str(value), prose)
    if isinstance(column, models.TextField):
        return _block(str(value))
    return visible(str(value))


def account(row: Any) -> SafeString:
    """Which participant of the same request created a reviewer's young account."""
    request = approvals.approval(row.approval_id, workspace=row.workspace_id)
    votes = approvals.votes(row.approval_id)
    return visible(young_accounts(request, votes).get(row.pk, EMPTY))


def sentence(row: Any) -> SafeString:
    """Describe an event in words."""
    event = SimpleNamespace(
        kind=row.kind, data=row.data or {}, actor=row.actor, imported=imported(row)
    )
    return prose(_cut(event_sentence(event, description(row).people)))  # type: ignore[arg-type]


def description(row: Any) -> PageLookups:
    """The lookups of this row's page."""
    result: PageLookups = getattr(row, "lookups", NOTHING)
    return result


def person(row: Any, actor: str) -> SafeString:
    """The name of an actor as the row's page shows it."""
    return visible(sentences.person(actor, description(row).people, imported=imported(row)))


def imported(row: Any) -> bool:
    """True if another installation wrote the row, so its people are not those of this one."""
    match row._meta.model_name:
        case "approval":
            return bool(row.imported)
        case "decision":
            return bool(row.approval.imported)
        case "event":
            return bool(row.seq <= description(row).imports.get(row.thread_id, (0, -1))[0])
        case "checkpoint":
            return bool(row.number <= description(row).imports.get(row.thread_id, (0, -1))[1])
    return False


def _link(name: str, ident: object, text: str) -> SafeString:
    address = reverse(f"admin:{LINKS[name]}_change", args=[ident])
    return format_html('<a href="{}">{}</a>', address, visible(text))


def _time(at: datetime, exact: str) -> SafeString:
    there = at.astimezone(UTC)
    stamp = there.isoformat(sep=" ", timespec=exact).removesuffix("+00:00")
    return format_html('<time datetime="{}">{} UTC</time>', there.isoformat(), stamp)


def _code(text: str) -> SafeString:
    return format_html("<code>{}</code>", visible(text))


def _block(text: str, escaped: Callable[[str], SafeString] = visible) -> SafeString:
    if len(text) <= LONGEST:
        return format_html('<pre tabindex="0">{}</pre>', escaped(text))
    return format_html(
        '<pre tabindex="0">{}</pre><p>The first {} of {} characters; the page of the thread and '
        "the API have all.</p>",
        escaped(text[:LONGEST]),
        number(LONGEST),
        number(len(text)),
    )


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 1]}…"
