"""Incidents in words: the trouble, its state, the headline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from approvals.incidents.queries import IncidentRow
from approvals.notify.texts.incident_kinds import (
    ATTENTION,
    BREAKER,
    DAMAGED,
    FAILED,
    LOST,
    OVER_BUDGET,
    STUCK,
)
from approvals.notify.texts.incident_letters import HEADS


@dataclass(frozen=True, slots=True)
class TroubleLook:
    """A kind of trouble as pages show it: word, tone class, icon of the sprite."""

    word: str
    tone: str
    icon: str


LOOKS: Final = {
    DAMAGED: TroubleLook(HEADS[DAMAGED], "t-fail", "shield"),
    LOST: TroubleLook(HEADS[LOST], "t-fail", "fail"),
    BREAKER: TroubleLook(HEADS[BREAKER], "t-stuck", "cancel"),
    ATTENTION: TroubleLook(HEADS[ATTENTION], "t-stuck", "stuck"),
    FAILED: TroubleLook(HEADS[FAILED], "t-fail", "fail"),
    OVER_BUDGET: TroubleLook(HEADS[OVER_BUDGET], "t-wait", "pause"),
    STUCK: TroubleLook(HEADS[STUCK], "t-stuck", "clock"),
}
STATE_WORDS: Final = {
    "open": ("Open", "t-fail"),
    "taken": ("Taken", "t-run"),
    "snoozed": ("Snoozed", "t-wait"),
    "closed": ("Closed", "t-done"),
}


def title(row: IncidentRow) -> str:
    """The headline of an incident: `Failed: 100 threads of research`."""
    head = LOOKS[row.kind].word
    if row.kind in (BREAKER, DAMAGED):
        return f"{head}: {row.agent}" if row.agent else head
    return f"{head}: {row.threads:,} thread{'' if row.threads == 1 else 's'} of {row.agent}"
