"""Filters of incidents: on the page of their list, in the call and the command."""

from __future__ import annotations

from typing import Final

from approvals.incidents.queries import ALL, STATES
from approvals.notify.texts.incident_kinds import TROUBLES
from checkpoints.limits import AGENT_MAX
from dashboard.fields import filters
from dashboard.fields.filters import Filter
from dashboard.wording.fleet.incidents import LOOKS, STATE_WORDS

# Its condition is the field of its name in `approvals.incidents.queries.IncidentSelection`.
INCIDENTS: Final = (
    Filter(
        name="state",
        kind=filters.one({**{word: STATE_WORDS[word][0] for word in STATES}, ALL: "All"}),
        help="Only those in this state; `open` are also taken and snoozed ones.",
    ),
    Filter(
        name="kind",
        kind=filters.one({kind: LOOKS[kind].word for kind in TROUBLES}),
        help="Only those about this trouble.",
        label="What is wrong",
        unset="Anything",
    ),
    Filter(
        name="agent",
        kind=filters.text(AGENT_MAX),
        help="Only those of this agent.",
        label="Agent",
        unset="All agents",
    ),
)
