"""One way in and how to knock at it: who knocks, what became of it, things of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from django.test import Client
from django.urls import URLResolver, get_resolver

from approvals.queries import ApprovalRow
from tests.contract.world import World

from .targets import FOREIGN

REFUSED, FORBIDDEN, MISSING = "refused", "forbidden", "missing"
type Knock = Callable[[str | None], str]
PEOPLE = (None, "viewer", "operator", "manager", "auditor", "admin", "nobody", "stranger")


@dataclass(frozen=True)
class Entry:
    """One way in: `prepare(world, foreign)` gives what knocks as somebody, None for nobody.

    A knock answers a word of `said`. With `foreign` it asks for things of another workspace.
    `nobody` is False where a process of the machine itself knocks: there is no anonymous.
    """

    kind: str
    name: str
    prepare: Callable[[World, bool], Knock]
    names_things: bool = True
    nobody: bool = True


def outcome_of(status: int, location: str = "") -> str:
    """An answer as one word: what became of who knocked."""
    if status == 401 or (status in (301, 302) and "/login/" in location):
        return REFUSED
    return {403: FORBIDDEN, 404: MISSING}.get(status, "in" if status < 400 else f"{status}")


def browsers(world: World) -> dict[str | None, Any]:
    """A browser of everybody; one of nobody under None."""
    return {who: Client() if who is None else world.cast.client(who) for who in PEOPLE}


def answered(answer: Any) -> str:
    """What became of one request; of several verdicts at once, what became of all of them."""
    if answer.status_code == 200 and answer.headers["Content-Type"] == "application/json":
        one_by_one = answer.json().get("results", [])
        words = {outcome_of(one["status"]) for one in one_by_one if "problem" in one}
        if len(words) == 1:
            return words.pop()
    return outcome_of(answer.status_code, answer.headers.get("Location", ""))


def swapped(world: World, text: str) -> str:
    """The same words with things of another workspace in the place of ours."""
    foreign = world.foreign_gate
    for one in fields(world):
        if one.name in ("cast", "agent", "first") or one.name.startswith("foreign"):
            continue
        ours = getattr(world, one.name)
        if one.name in FOREIGN and str(ours) in text:
            text = text.replace(str(ours), FOREIGN[one.name](world, True))
            continue
        if isinstance(ours, ApprovalRow):
            text = text.replace(str(ours.id), str(foreign.id))
            text = text.replace(ours.proposal_hash, foreign.proposal_hash)
            ours = ours.thread
        thread = ours[0] if isinstance(ours, tuple) else ours
        text = text.replace(str(thread), str(world.foreign))
    return text


def addresses() -> Iterator[tuple[str, frozenset[str]]]:
    """(namespace:name, names of its parameters) of every address."""

    def walk(
        patterns: Any, space: str, values: frozenset[str]
    ) -> Iterator[tuple[str, frozenset[str]]]:
        for one in patterns:
            named = values | frozenset(one.pattern.regex.groupindex)
            if isinstance(one, URLResolver):
                inner = f"{space}{one.namespace}:" if one.namespace else space
                yield from walk(one.url_patterns, inner, named)
            else:
                yield f"{space}{one.name or ''}", named

    yield from walk(get_resolver().url_patterns, "", frozenset())
