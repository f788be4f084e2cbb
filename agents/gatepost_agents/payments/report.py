"""What was done, as a page of Markdown: paid, set aside and why, waiting and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .checks import TITLES, title
from .money import shown, total

SHOWN = 500


def escaped(text: str) -> str:
    """Text of a file as it stays text in Markdown, also in a table."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+!|~&" else c for c in line)


def report(
    *,
    file: str,
    lines: int,
    outcome: str,
    paid: Sequence[Mapping[str, str]],
    set_aside: Sequence[Mapping[str, str]],
    waiting: Sequence[Mapping[str, str]],
    mails: Sequence[Mapping[str, Any]],
) -> str:
    """The Markdown text."""
    parts = [
        f"# Payment of {escaped(file)}",
        escaped(outcome),
        f"{lines:,} lines: {len(paid):,} paid, {len(set_aside):,} set aside, "
        f"{len(waiting):,} waiting.",
    ]
    if paid:
        parts += [f"## Paid: {shown(total(p['amount'] for p in paid))} EUR"]
        parts += [_table(("Invoice", "To", "Account", "Amount"), [
            (p["invoice"], p["to"], p["account"], shown(p["amount"])) for p in paid
        ])]  # fmt: skip
    for check in TITLES:
        results = [p for p in set_aside if p["check"] == check]
        if results:
            parts += [f"## {len(results):,} {title(check, len(results))}"]
            parts += [_table(("Line", "Invoice", "Amount", "Why"), [
                (p["line"], p["invoice"], p["amount"], p["why"]) for p in results
            ])]  # fmt: skip
    if waiting:
        parts += ["## Waiting"]
        parts += [_table(("Line", "Invoice", "Amount", "Why"), [
            (w["line"], w["invoice"], shown(w["amount"]), w["why"]) for w in waiting
        ])]  # fmt: skip
    if mails:
        parts += ["## Remittance advice, in the outbox", "These mails can’t be unsent."]
        parts += [_table(("To", "Total", "File"), [
            (m["to"], shown(m["total"]), m["file"]) for m in mails
        ])]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    body = [f"| {' | '.join(map(escaped, row))} |" for row in rows[:SHOWN]]
    more = [f"\n… and {len(rows) - SHOWN:,} more."] if len(rows) > SHOWN else []
    return "\n".join([*head, *body, *more])
