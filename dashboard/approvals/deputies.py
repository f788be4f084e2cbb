"""Deputies as they are shown, and whom a person may name."""

from __future__ import annotations

from approvals.notify.recipients import Person, deciders
from dashboard.identity.permissions import Actor


def possible_deputies(actor: Actor) -> list[Person]:
    """The reviewers whom the person may name, by user name."""
    return [one for one in deciders(actor.workspace) if one.id != actor.person]
