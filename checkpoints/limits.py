"""Bounds of the ground floor that settings may change."""

from __future__ import annotations

from functools import cache
from typing import Any

CRASHES_ALLOWED = 3
# A slot without a heartbeat for this many leases is ended; a second time at one step is the last.
SILENT_LEASES, SILENT_ALLOWED = 1.5, 2
MODEL_ANSWER_BYTES = 8 << 20
# Steps that a graph takes with nothing from outside, unless it sets another number.
STEPS_MAX = 10_000
# The longest pause before a row that failed in a sweep is tried again.
SET_ASIDE_SECONDS_MAX = 300.0
# What the columns of a thread's names take, in characters; the API's document states the same.
TITLE_MAX, NAME_MAX, NODE_MAX, AGENT_MAX = 300, 255, 100, 100


@cache
def _settings() -> tuple[Any, type[Exception]]:
    # With asyncio: a third of what `import gatepost` would take.
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    return settings, ImproperlyConfigured


def optional_setting(name: str, default: Any) -> Any:
    """A setting, or the default where there are no settings at all: a play needs none."""
    settings, missing = _settings()
    try:
        return getattr(settings, name, default)
    except missing:
        return default


def lease_seconds() -> float:
    """Seconds that a lease lives without renewal."""
    return float(optional_setting("GATEPOST_LEASE_SECONDS", 15))


def stuck_seconds() -> float:
    """A thread at work without an event for so long is stuck while its node is not known better."""
    return float(optional_setting("GATEPOST_STUCK_SECONDS", 900))


def stuck_wait_seconds() -> float:
    """A thread that waits for people so long is stuck while its node is not known better."""
    return float(optional_setting("GATEPOST_STUCK_WAIT_SECONDS", 86_400))


def folder_seconds() -> float:
    """A thread that came to rest longer ago got no folder from the worker that left it."""
    return 4 * lease_seconds()


def answer_seconds() -> float:
    """Seconds that a statement may stay unanswered before its connection is given up."""
    settings, missing = _settings()
    try:  # once more in place: each statement asks
        return float(getattr(settings, "GATEPOST_ANSWER_SECONDS", 32))
    except missing:
        return 32.0


def step_seconds() -> float:
    """Seconds that a node may work in one go, unless its agent sets another limit."""
    return float(optional_setting("GATEPOST_STEP_SECONDS", 900))


def nodes_at_once() -> int:
    """Number of nodes of one step that work at the same time, unless its agent sets another."""
    return int(optional_setting("GATEPOST_NODES_AT_ONCE", 8))


def model_answer_bytes() -> int:
    """Bytes of text that the answer of a model may have: text, reasoning and arguments together."""
    return int(optional_setting("GATEPOST_MODEL_ANSWER_BYTES", MODEL_ANSWER_BYTES))
