"""What is on record around one checkpoint, beside its state: the parts of its anatomy."""

from .around import (
    CALLS,
    THOUGHTS,
    calls_around,
    config_at,
    lease_before,
    packages_of,
    thoughts_before,
)
from .rows import CallRow, ThoughtRow

__all__ = [
    "CALLS",
    "THOUGHTS",
    "CallRow",
    "ThoughtRow",
    "calls_around",
    "config_at",
    "lease_before",
    "packages_of",
    "thoughts_before",
]
