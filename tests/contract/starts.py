"""Which functions start while something is done."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

TOOL = 4  # none of those that Python keeps for debuggers, coverage and profilers


@contextmanager
def noticed(notice: Callable[[FrameType], bool]) -> Iterator[None]:
    """Call `notice` with the frame of each function that starts.

    A function for which it answers False is not noticed again: that is most of them.
    """
    monitoring: Any = sys.monitoring

    def look(_code: CodeType, _offset: int) -> Any:
        here = inspect.currentframe()
        assert here is not None
        assert here.f_back is not None
        return None if notice(here.f_back) else monitoring.DISABLE

    monitoring.use_tool_id(TOOL, __name__)
    try:
        monitoring.restart_events()
        monitoring.register_callback(TOOL, monitoring.events.PY_START, look)
        monitoring.set_events(TOOL, monitoring.events.PY_START)
        yield
    finally:
        monitoring.set_events(TOOL, 0)
        monitoring.register_callback(TOOL, monitoring.events.PY_START, None)
        monitoring.free_tool_id(TOOL)
