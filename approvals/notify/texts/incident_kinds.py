"""The words of incidents: kinds of trouble, kinds of messages about them, limits."""

from __future__ import annotations

from typing import Final

FAILED: Final = "thread.failed"
ATTENTION: Final = "thread.attention"
STUCK: Final = "thread.stuck"
OVER_BUDGET: Final = "thread.over_budget"
DAMAGED: Final = "record.damaged"
BREAKER: Final = "breaker.tripped"
LOST: Final = "steps.lost"
# What an incident can be about, the worst first.
TROUBLES: Final = (DAMAGED, LOST, BREAKER, ATTENTION, FAILED, OVER_BUDGET, STUCK)
# Goes to people during their quiet hours as well.
HIGH: Final = frozenset({DAMAGED, LOST, BREAKER})

OPENED: Final = "incident.opened"
GREW: Final = "incident.grew"
REMINDED: Final = "incident.reminded"
ESCALATED: Final = "incident.escalated"
MESSAGES: Final = (OPENED, GREW, REMINDED, ESCALATED)

NEWEST_SHOWN: Final = 25  # threads on the page of an incident
REASON_MAX: Final = 2_000
SUBSCRIPTIONS_MAX: Final = 200  # of a workspace
ESCALATE_MAX: Final = 7 * 24 * 60  # minutes
LABEL_MAX: Final = 200
ZONE_MAX: Final = 50
SNOOZE_MAX: Final = 30 * 24 * 3600  # seconds
