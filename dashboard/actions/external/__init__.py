"""Actions of an agent that works elsewhere on its threads, under its lease."""

from .leases import Held, lease_of, release, renew, take
from .next_steps import Next, next_of, record_of
from .observed_threads import SeenState, keep_state
from .reports import (
    ask,
    begin,
    check,
    commit,
    note,
    record,
    settle,
    settle_undo,
)
from .saved_states import load_state, save_state
from .spans import take_spans

__all__ = [
    "Held",
    "Next",
    "SeenState",
    "ask",
    "begin",
    "check",
    "commit",
    "keep_state",
    "lease_of",
    "load_state",
    "next_of",
    "note",
    "record",
    "record_of",
    "release",
    "renew",
    "save_state",
    "settle",
    "settle_undo",
    "take",
    "take_spans",
]
