"""Actions that people can take on an externally run thread, and why not others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from checkpoints.views import ThreadRow
from dashboard.identity.permissions import THREAD_ACTIONS, beyond, no_message_channel

# In the order of the buttons.
WORDS: Final = {
    "pause": "pause",
    "resume": "resume",
    "retry": "retry",
    "input": "send messages",
    "edit": "edit",
    "fork": "fork",
    "roll_back": "roll back",
    "cancel": "cancel",
}


@dataclass(frozen=True, slots=True)
class Abilities:
    """`can` and `cannot` are words of the buttons; `reasons` says why not, one sentence each."""

    can: tuple[str, ...]
    cannot: tuple[str, ...]
    reasons: tuple[str, ...]


def abilities(thread: ThreadRow) -> Abilities | None:
    """List what the kind of agent allows, apart from status and roles; None of an agent of ours."""
    if thread.external is None:
        return None
    refusals = {action: _refusal(thread, action) for action in THREAD_ACTIONS if action in WORDS}
    can = tuple(WORDS[action] for action, why in refusals.items() if not why)
    if not thread.external.watched:
        can = ("decide what it asks", *can)
    cannot = tuple(WORDS[action] for action, why in refusals.items() if why)
    return Abilities(can, cannot, tuple(dict.fromkeys(filter(None, refusals.values()))))


def _refusal(thread: ThreadRow, action: str) -> str:
    if why := beyond(thread, action):
        return why
    return no_message_channel(thread) if action == "input" and not thread.message_channel else ""
