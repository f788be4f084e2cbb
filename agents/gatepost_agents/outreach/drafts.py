"""Drafts a mail to a company from what its line says; a model may word it, a template else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SUBJECT_MAX = 120
BODY_MAX = 4_000
FACTS = ("website", "about", "industry", "city")


def draft(lead: Mapping[str, Any], *, offer: str, sender: str, body: str = "") -> dict[str, str]:
    """{"company", "to", "name", "subject", "body", "by": "model" | "template"}.

    `body` is a model's; greeting and signature are ours in either case.
    """
    name = one_line(lead["contact"])
    greeting = f"Dear {name}," if name else "Dear Sir or Madam,"
    text = body.strip()[:BODY_MAX] or _template(lead, offer)
    closing = one_line(sender) or "Kind regards"
    signature = f"Kind regards\n{closing}" if closing != "Kind regards" else closing
    return {
        "company": one_line(lead["company"]),
        "to": lead["mail"],
        "name": name or one_line(lead["company"]),
        "subject": _subject(lead, offer),
        "body": f"{greeting}\n\n{text}\n\n{signature}\n",
        "by": "model" if body.strip() else "template",
    }


def one_line(text: str) -> str:
    """Text of a table on one line, without characters that cannot be seen."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())


def _subject(lead: Mapping[str, Any], offer: str) -> str:
    subject = f"{one_line(offer).rstrip('.')} - for {one_line(lead['company'])}"
    return (
        subject if len(subject) <= SUBJECT_MAX else f"For {one_line(lead['company'])}"[:SUBJECT_MAX]
    )


def _template(lead: Mapping[str, Any], offer: str) -> str:
    """The offer, and what we know of the company word for word."""
    facts = {fact["field"]: one_line(fact["text"]) for fact in lead["facts"]}
    known = next((facts[field] for field in FACTS if field in facts), "")
    reason = f"I am writing to you because of what is said of {one_line(lead['company'])}: {known}."
    offered = one_line(offer).rstrip(".")
    question = "May I tell you more? If you would rather not hear from me, one word is enough."
    return "\n\n".join([*([reason] if known else []), f"What I offer: {offered}.", question])
