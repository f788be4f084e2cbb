"""Questions to the record: events by agent, person, time, tool, decision and what was proposed."""

from .kinds import DECISIONS, NOTABLE, OF_REQUESTS
from .outcomes import CALLS_AFTER, PER_REQUEST, Outcome, Outcomes, outcomes_of
from .parts import Part
from .questions import (
    COUNT_CAP,
    WINDOW,
    Answers,
    Question,
    RecordRow,
    answer,
    expand,
    oldest_first,
)
from .requests import Look, Notice, looks_at, notices_of, recorded_requests
