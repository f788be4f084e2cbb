"""The tools: what each is called, takes and answers, and the calls of the API that it makes."""

from __future__ import annotations

from typing import Final

from . import memories, people, states, threads
from .tool import Tool

TOOLS: Final[dict[str, Tool]] = {
    tool.name: tool for tool in (*threads.TOOLS, *states.TOOLS, *people.TOOLS, *memories.TOOLS)
}

__all__ = ["TOOLS", "Tool"]
