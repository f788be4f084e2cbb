"""Texts of mails about threads that ended, stopped or stand still."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Final
from uuid import UUID

from django.db import connection

from checkpoints.state import deltas

from .letters import FOOT, LISTED, Letter, line, subject

_HEADS: Final = {
    "thread.succeeded": "Finished",
    "thread.failed": "Failed",
    "thread.cancelled": "Cancelled",
    "thread.attention": "Needs attention",
    "thread.paused": "Paused",
    "thread.stuck": "Stuck",
    "thread.work_waiting": "Waiting for its agent",
}


@dataclass(frozen=True, slots=True)
class ThreadNews:
    """The outcome of one thread."""

    thread: UUID
    kind: str
    title: str
    agent: str
    reason: str
    at: datetime


def thread_news(news: UUID) -> ThreadNews | None:
    """One row of the outbox about a thread; None where it is gone."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT thread_id, kind, data::text, at FROM gp_outbox WHERE id = %s::uuid "
            "AND thread_id IS NOT NULL",
            (news,),
        )
        row = cursor.fetchone()
    if row is None:
        return None
    thread, kind, text, at = row
    data = deltas.decode(text)
    return ThreadNews(thread, kind, data["title"], data["agent"], data["reason"], at)


def thread_letter(
    thread_news: Sequence[ThreadNews], rest: Letter | None = None, *, base: str
) -> Letter:
    """One or several threads, each with why and the way there; then what else is new."""
    texts, items = [], []
    for one in thread_news[:LISTED]:
        message = f"{_head(one)}: {line(one.title, 160) or one.thread} ({line(one.agent, 100)})"
        why = line(one.reason)
        address = f"{base}/threads/{one.thread}/?src=mail"
        when = f"{one.at.astimezone(UTC):%d %B %Y, %H:%M} UTC"
        texts += [f"- {message}, {when}", *([f"  {why}"] if why else []), f"  {address}"]
        items.append(
            f'<li><a href="{escape(address)}">{escape(message)}</a>, {when}'
            + (f"<br>{escape(why)}" if why else "")
            + "</li>"
        )
    more = f"and {len(thread_news) - LISTED} more" if len(thread_news) > LISTED else ""
    first = f"{_head(thread_news[0])}: {line(thread_news[0].title)}"
    head = first if len(thread_news) == 1 else f"{len(thread_news)} threads: {first} and others"
    text = "\n".join([head, "", *texts, more, "", FOOT, ""])
    html = f"<h1>{escape(head)}</h1><ul>{''.join(items)}</ul><p>{escape(more)}</p>"
    html += f"<p>{escape(FOOT)}</p>"
    if rest is not None:
        text, html = f"{text}\n{rest.text}", html + rest.html
    return Letter(subject(head), text, html)


def _head(one: ThreadNews) -> str:
    return _HEADS.get(one.kind, "News")
