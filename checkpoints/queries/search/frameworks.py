"""Agents by the framework that they say they are written in."""

from __future__ import annotations

from typing import Final

from ...agent_versions import OURS
from ...postgres.named_rows import fetch_named

# Of a version v; the values are the framework, twice.
WRITTEN_IN: Final = (
    f"CASE WHEN v.graph -> 'external' IS NULL THEN %s::text = '{OURS}' "
    "ELSE v.graph -> 'external' ->> 'framework' = %s::text END"
)
_AGENTS = f"SELECT DISTINCT v.agent FROM gp_agent_version v WHERE {WRITTEN_IN}"


def agents_written_in(framework: str) -> list[str]:
    """The names of agents of which some version says so."""
    return [agent for (agent,) in fetch_named(_AGENTS, (framework, framework))]
