"""Threads by a value in their state, as SQL: what `state.CHANNEL:value` of a query means.

The row of a thread keeps the values of searchable channels, and an index knows what they contain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Final
from uuid import UUID

from ...postgres.named_rows import fetch_named
from ...state import deltas
from .language import STATE, InvalidQuery, Query, parse
from .starters import members_of, people_named

_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?")
# Agents that work elsewhere, and those of a capsule, belong to one workspace.
_DECLARED: Final = """
SELECT DISTINCT c.key FROM gp_agent_version v, jsonb_each(v.channels) c
WHERE c.value @> '{"searchable": true}' AND (v.imported_into = %s::uuid OR (
  (v.imported_into IS NULL OR EXISTS (
    SELECT 1 FROM gp_agent_announcement n WHERE n.agent_version_id = v.id))
  AND (v.graph -> 'external' IS NULL OR v.graph #>> '{external,workspace}' = %s::uuid::text)))
ORDER BY c.key
"""


def checked_query(text: str, workspace: UUID | None = None) -> Query:
    """Read a query; raises InvalidQuery, also for a person or a searchable channel nobody has.

    Without `workspace` only channels of this installation's own agents are known.
    """
    query = parse(text)
    terms = [one for term in query.terms for one in term.alternatives]
    for term in terms:
        if term.name == "by" and (nobody := [n for n in term.values if not people_named(n)]):
            known = ", ".join(members_of(workspace)) if workspace else ""
            raise InvalidQuery(
                "by:",
                term.position + term.negated,
                f"names nobody: “{nobody[0]}” is no user name."
                + (f" Members are {known}." if known else ""),
            )
    wanted = [term for term in terms if term.path]
    if not wanted:
        return query
    declared = [name for (name,) in fetch_named(_DECLARED, (workspace, workspace))]
    for term in wanted:
        if (channel := term.path[0]) in declared:
            continue
        near = get_close_matches(channel, declared, n=1)
        raise InvalidQuery(
            f"{term.name}:",
            term.position + term.negated,
            f"names no searchable channel{_list(declared)}"
            + (f" Did you mean “{STATE}{near[0]}:”?" if near else ""),
        )
    return query


def _list(declared: Sequence[str]) -> str:
    if not declared:
        return (
            ": no agent declares one. An author does so with Searchable(), an agent that works "
            "elsewhere with `searchable`."
        )
    return f"; there are {', '.join(declared[:20])}{', …' if len(declared) > 20 else ''}."


def state_condition(path: Sequence[str], values: Sequence[str]) -> tuple[str, list[Any]]:
    """The condition on `gp_thread th` that one of these values stands at this path of the state.

    A list on the way, or at its end, has it where one of its items does.
    """
    params = [pattern for value in values for pattern in _patterns(path, value)]
    tests = ["th.searchable @> %s::jsonb"] * len(params)
    return f"({' OR '.join(tests)})", params


def _patterns(path: Sequence[str], value: str) -> Iterator[str]:
    for leaf in _leaves(value):
        yield deltas.canonical(_nested(path, leaf)).decode()
        for i in range(1, len(path) + 1):
            yield deltas.canonical(_nested(path[:i], [_nested(path[i:], leaf)])).decode()


def _nested(path: Sequence[str], leaf: Any) -> Any:
    for name in reversed(path):
        leaf = {name: leaf}
    return leaf


def _leaves(value: str) -> Iterator[Any]:
    """The JSON values that are written so: a text, and perhaps a number, true, false or null."""
    yield value
    if value in ("true", "false", "null"):
        yield {"true": True, "false": False, "null": None}[value]
    elif _NUMBER.fullmatch(value):
        yield int(value) if value.lstrip("-").isdigit() else float(value)
