"""The facts that conditions may look at, and which of them the controlled party writes itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Fact:
    """A name in conditions. `claimed` says who writes it; empty for what the installation knows.

    `claimed_elsewhere`: the same where the agent works elsewhere and reports what it does.
    """

    about: str
    claimed: str = ""
    claimed_elsewhere: str = ""


FACTS: Final[dict[str, Fact]] = {
    "tool": Fact("what the agent calls"),
    "args": Fact("the arguments of the call, as they will be used"),
    "undo": Fact(
        "'none' where what the call does cannot be undone, 'tool' where its tool has an undo",
        claimed_elsewhere="an agent that works elsewhere announces its undo itself",
    ),
    "agent": Fact("which agent"),
    "cost": Fact("what the thread has spent so far, a number", "what calls report adds it up"),
    "risk": Fact("low, medium, high or empty", "the author names it at the call"),
    "labels": Fact("the thread's labels", "the starter of the thread sets them"),
    "operation": Fact("what a person wants to do to a thread"),
    "started_by": Fact("who started the thread"),
    "node": Fact(
        "the node that the thread comes to",
        claimed_elsewhere="an agent that works elsewhere names its nodes itself",
    ),
}
KNOWN: Final = tuple(name for name, fact in FACTS.items() if not fact.claimed)
CLAIMED: Final = tuple(name for name, fact in FACTS.items() if fact.claimed)


def claimed_of(names: Collection[str], *, elsewhere: bool = False) -> tuple[str, ...]:
    """List the claimed facts among these; `elsewhere`: of an agent that works elsewhere."""
    return tuple(
        name
        for name, fact in FACTS.items()
        if name in names and (fact.claimed or (elsewhere and fact.claimed_elsewhere))
    )


def reason(name: str) -> str:
    """Say who writes a claimed fact, as a sentence without its full stop."""
    fact = FACTS[name]
    return fact.claimed or fact.claimed_elsewhere
