"""Questions to the record: events by agent, person, time, tool, decision and what was proposed."""

from .kinds import DECISIONS, NOTABLE
from .questions import (
    COUNT_CAP,
    WINDOW,
    Answers,
    AskedRow,
    Question,
    answer,
    bad_cursor,
    expand,
    oldest_first,
)
from .requests import recorded_requests

__all__ = [
    "COUNT_CAP",
    "DECISIONS",
    "NOTABLE",
    "WINDOW",
    "Answers",
    "AskedRow",
    "Question",
    "answer",
    "bad_cursor",
    "expand",
    "oldest_first",
    "recorded_requests",
]
