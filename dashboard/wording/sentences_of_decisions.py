"""Verdicts and outcomes of requests in a few words."""

from __future__ import annotations

from checkpoints.unseen import plain

from .text import cut

VERBS = {
    "approve": "approved",
    "reject": "rejected",
    "edit": "approved with edits",
    "respond": "answered",
}


def ended(*, status: str, outcome: str, by_name: str) -> str:
    """The outcome of a request, in a few words for a list; empty while it is open."""
    if outcome:
        return f"Decided by {plain(cut(by_name)) or 'somebody'}: {VERBS.get(outcome, 'decided')}"
    return {"expired": "Expired: nobody decided in time", "withdrawn": "Withdrawn"}.get(status, "")
