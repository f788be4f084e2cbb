"""What is found in an agent's module: how bad, where, what to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `place` is "node buy", "channel goal" ...; `line` is 0 where none is known."""

    level: Level
    agent: str
    place: str
    said: str
    fix: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Voice:
    """Speaks of one place in one agent."""

    agent: str
    place: str
    file: str = ""
    line: int = 0

    def error(self, text: str, fix: str) -> Finding:
        """A worker would not take the agent, or a thread would fail."""
        return self._finding("error", text, fix)

    def warning(self, text: str, fix: str) -> Finding:
        """A warning: the code works, and people may regret it."""
        return self._finding("warning", text, fix)

    def note(self, text: str, fix: str = "") -> Finding:
        """Good to know."""
        return self._finding("note", text, fix)

    def _finding(self, level: Level, text: str, fix: str) -> Finding:
        return Finding(level, self.agent, self.place, text, fix, self.file, self.line)


def voice(agent: str, path: str, of: Callable[..., Any] | type | None = None) -> Voice:
    """The voice for a place, with the line of the function or class that it is."""
    file, line = where(of)
    return Voice(agent, path, file, line)


def where(of: Callable[..., Any] | type | None) -> tuple[str, int]:
    """File (as seen from here) and line of a function or class, as far as known."""
    if of is None:
        return "", 0
    try:
        plain: Any = inspect.unwrap(of) if callable(of) else of
        file = inspect.getsourcefile(plain) or ""
        return shown(file), inspect.getsourcelines(plain)[1]
    except (OSError, TypeError, ValueError):
        return "", 0


def shown(file: str) -> str:
    """A path as short as it can be from the working folder."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
