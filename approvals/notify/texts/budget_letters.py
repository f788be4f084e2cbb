"""Messages to people about budgets of which 80 or 100 per cent is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final
from uuid import UUID

from django.db import connection

from checkpoints.state import deltas

from .letters import LISTED, Letter, line, subject

BUDGETS_PATH: Final = "/overview/budgets/"


def news_data(news: UUID) -> Mapping[str, Any] | None:
    """Read what a row of the outbox says; None where it is gone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT data::text FROM gp_outbox WHERE id = %s::uuid", (news,))
        row = cursor.fetchone()
    result: Mapping[str, Any] | None = deltas.decode(row[0]) if row else None
    return result


def budget_letter(
    spent: Sequence[Mapping[str, Any]], rest: Letter | None = None, *, base: str
) -> Letter:
    """One or several budgets, each with what is spent of it; then what else is new."""
    lines = [_sentence(data) for data in spent[:LISTED]]
    more = [f"and {len(spent) - LISTED} more"] if len(spent) > LISTED else []
    address = f"{base}{BUDGETS_PATH}?src=mail"
    head = lines[0] if len(lines) == 1 else f"{len(spent)} budgets: {lines[0]} and others"
    text = "\n".join([head, "", *(f"- {one}" for one in lines), *more, "", address, ""])
    items = "".join(f"<li>{escape(one)}</li>" for one in [*lines, *more])
    html = f'<h1>{escape(head)}</h1><ul>{items}</ul><p><a href="{escape(address)}">Budgets</a></p>'
    if rest is not None:
        text, html = f"{text}\n{rest.text}", html + rest.html
    return Letter(subject(head), text, html)


def _sentence(data: Mapping[str, Any]) -> str:
    name = line(data["name"], 100)
    whose = f"{data['scope']} {name}" if name else "the workspace"
    parts = []
    if data["max_cost"] is not None:
        parts.append(f"${data['cost']} of ${data['max_cost']}")
    if data["max_tokens"] is not None:
        parts.append(f"{data['tokens']:,} of {data['max_tokens']:,} tokens")
    stopped = ". A breaker stops its threads" if data.get("breaker") else ""
    return (
        f"Budget of {whose} for {data['month']}: {data['band']} % is spent "
        f"({', '.join(parts)}){stopped}"
    )
