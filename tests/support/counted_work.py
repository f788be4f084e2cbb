"""The work of Python counted, so that a test of cost does not depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_TOOL = sys.monitoring.PROFILER_ID
_COUNTED = sys.monitoring.events.LINE | sys.monitoring.events.PY_START | sys.monitoring.events.CALL


def counted(work: Callable[[], Any]) -> int:
    """The lines executed and the functions called by `work`, in this thread and all others.

    One call of a function written in C is one, whatever it does inside.
    """
    count = 0

    def take(*_: Any) -> None:
        nonlocal count
        count += 1

    sys.monitoring.use_tool_id(_TOOL, "counted work")
    try:
        for event in (1 << n for n in range(_COUNTED.bit_length()) if _COUNTED >> n & 1):
            sys.monitoring.register_callback(_TOOL, event, take)
        sys.monitoring.set_events(_TOOL, _COUNTED)
        work()
    finally:
        sys.monitoring.set_events(_TOOL, 0)
        sys.monitoring.free_tool_id(_TOOL)
    return count
