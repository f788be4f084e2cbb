"""Bounds of a lease of an agent that works elsewhere, and the words that end one."""

from __future__ import annotations

from typing import Final

from checkpoints.states import EventKind

SECONDS_MIN, SECONDS_MAX, SECONDS_DEFAULT = 5, 3_600, 60
REPORTER_MAX: Final = 80
# How a thread is left, by the word that the agent says.
LEAVING: Final = {
    "queued": EventKind.THREAD_HANDED_BACK,
    "succeeded": EventKind.THREAD_SUCCEEDED,
    "failed": EventKind.THREAD_FAILED,
    "paused": EventKind.THREAD_PAUSED,
    "sleeping": EventKind.THREAD_SLEPT,
}
# The agent of states that are saved under a name.
BUCKET: Final = "saved-states"
