"""Lookups of threads by words and labels: all that match in one read, or in the order of the list.

One index has the threads of a word and no order, another the order of a list and no words. Where
few threads match, they are read by the first and sorted. Where many do, a list is walked by the
second until the page is full.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from itertools import batched
from typing import Any, Final
from uuid import UUID

from ...postgres.named_rows import fetch_named
from ...postgres.plans import planned_for_this
from ...selections import Selection
from .filters import indexed, is_indexed, terms_of_fields
from .language import Term
from .state_values import checked_query

FEW: Final = 20_000
FEW_TITLES: Final = 5_000
# Of all threads: where the planner knows nothing of a word it takes 2 % to have it.
COMMON: Final = 0.05
SAMPLE: Final = 100


class Match(Enum):
    """Number of threads that match the words and labels of a query; ANY: it has none."""

    ANY = auto()
    FEW = auto()
    MANY = auto()


@dataclass(frozen=True, slots=True)
class Lookup:
    """Choice of how to read the threads of a query; no index is used for `common` terms."""

    match: Match
    common: tuple[Term, ...] = ()


@contextmanager
def lookup_of(workspace: UUID, selection: Selection) -> Iterator[Lookup]:
    """Choose how to read selected threads; statements meanwhile are planned for their words.

    Raises InvalidQuery.
    """
    terms = [term for term in checked_query(selection.q, workspace).terms if is_indexed(term)]
    terms += terms_of_fields(selection)
    if not terms:
        yield Lookup(Match.ANY)
        return
    with planned_for_this():
        expected, every = _expected(workspace, terms)
        most = max(FEW, COMMON * every)
        common = tuple(term for term, n in zip(terms, expected, strict=True) if n >= most)
        rare = [term for term in terms if term not in common]
        few = rare and _are_few(workspace, rare, min(expected))
        yield Lookup(Match.FEW, common) if few else Lookup(Match.MANY, tuple(terms))


def _are_few(workspace: UUID, rare: Sequence[Term], expected: int) -> bool:
    """Return whether few threads have all terms, counting where the planner does not know words."""
    few = expected <= FEW
    if any(one.name in ("", "error") for term in rare for one in term.alternatives):
        if _are_common(workspace, rare):
            return False
        where, params = _selected(workspace, rare)
        [(n,)] = fetch_named(
            f"SELECT count(*) FROM ({where} LIMIT %s) x", (*params, FEW_TITLES + 1)
        )
        few = n <= FEW_TITLES
    return few


def _are_common(workspace: UUID, terms: Sequence[Term]) -> bool:
    """Return whether one in twenty of the newest threads has all terms.

    An index finds the beginning of a common word only as a whole, which takes long.
    """
    parts = [indexed(term, workspace) for term in terms]
    [(n,)] = fetch_named(
        f"SELECT count(*) FILTER (WHERE {' AND '.join(text for text, _ in parts)}) FROM "
        "(SELECT th.* FROM gp_thread th WHERE th.workspace_id = %s::uuid "
        "ORDER BY th.status_since DESC, th.id DESC LIMIT %s) th",
        [*(value for _, params in parts for value in params), workspace, SAMPLE],
    )
    return bool(n >= COMMON * SAMPLE)


def _expected(workspace: UUID, terms: Sequence[Term]) -> tuple[list[int], int]:
    """Ask the planner how many threads each term has, and how many there are."""
    texts, params = ["SELECT 1 FROM gp_thread"], list[Any]()
    for term in terms:
        for bare in (True, False):
            text, values = _selected(workspace, [term], bare=bare)
            texts.append(text)
            params += values
    # Each for itself: the planner may not read all of them in parallel and so in parts.
    each = " UNION ALL ".join(f"({text} OFFSET 0)" for text in texts)
    [(plan,)] = fetch_named(f"EXPLAIN (FORMAT JSON) {each}", params)
    known = json.loads(plan) if isinstance(plan, str) else plan
    every, *n = (int(part["Plan Rows"]) for part in known[0]["Plan"]["Plans"])
    return [max(pair) for pair in batched(n, 2)], every


def _selected(
    workspace: UUID, terms: Sequence[Term], *, bare: bool = False
) -> tuple[str, list[Any]]:
    parts = [indexed(term, workspace, bare=bare) for term in terms]
    where = " AND ".join(["th.workspace_id = %s::uuid", *(text for text, _ in parts)])
    values = [value for _, params in parts for value in params]
    return f"SELECT 1 FROM gp_thread th WHERE {where}", [workspace, *values]


def collected(where: str) -> str:
    """Begin a statement that first finds the threads of these conditions as `few`."""
    return (
        "WITH few AS MATERIALIZED (SELECT th.id, th.status, th.status_since FROM gp_thread th "
        f"WHERE {where}) "
    )
