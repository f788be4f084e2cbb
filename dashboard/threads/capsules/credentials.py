"""Credentials in a capsule: refused with member and path before the row that holds one is written.

An agent in the capsule may let paths through, as agents do. A path of a state stands deeper in an
event or a delta, so it counts wherever a place ends with it.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from checkpoints.capsules.layout import INTEGRITY, BadCapsule, Reader
from dashboard.fields.credentials import LEAVE_OUT, credential_in

AGENT_MAX = 4 * 1024 * 1024


def refuse_credentials(reader: Reader) -> None:
    """Let the reader refuse each value that holds a credential; raises BadCapsule."""
    allowed = _allowed(reader)

    def look_at(value: Any, where: str) -> None:
        exempt: list[str] = []
        while hit := credential_in(value, exempt=exempt):
            if not _is_allowed(hit.path, allowed):
                raise BadCapsule(f"{where}: {hit.path} holds {hit.what}: {LEAVE_OUT}.")
            exempt.append(hit.path)

    reader.look_at = look_at
    if reader.has(INTEGRITY):  # The only member of rows that an import does not need.
        deque(reader.lines(INTEGRITY), maxlen=0)


def _allowed(reader: Reader) -> frozenset[str]:
    """The paths that agents of the capsule let through, without their root."""
    paths: set[str] = set()
    for name in reader.names:
        if name.startswith("agents/") and reader.size(name) <= AGENT_MAX:
            agent = reader.json(name)
            graph = agent.get("graph") if isinstance(agent, dict) else None
            named = graph.get("secrets_allowed") if isinstance(graph, dict) else None
            paths.update(named if isinstance(named, dict) else ())
    # One that names no place within a value, which no agent can declare, lets nothing through.
    return frozenset(tail for path in paths if (tail := path.partition("$")[2]))


def _is_allowed(path: str, allowed: frozenset[str]) -> bool:
    return any(path.endswith(tail) or f"{tail}." in path or f"{tail}[" in path for tail in allowed)
