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

__all__ = [
    "CALLS_AFTER",
    "COUNT_CAP",
    "DECISIONS",
    "NOTABLE",
    "OF_REQUESTS",
    "PER_REQUEST",
    "WINDOW",
    "Answers",
    "Look",
    "Notice",
    "Outcome",
    "Outcomes",
    "Part",
    "Question",
    "RecordRow",
    "answer",
    "expand",
    "looks_at",
    "notices_of",
    "oldest_first",
    "outcomes_of",
    "recorded_requests",
]
