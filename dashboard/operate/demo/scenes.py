"""The scenes of the demo: which threads are started, and what people do with them.

All of them are real executions of the agents that ship, on the data that ship with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashboard.operate.demo.demo import THREADS

from .steps import Decide, Fork, RollBack, Step

RESEARCH, FINANCE, TREASURY, SALES, PLATFORM = (
    "research",
    "finance",
    "treasury",
    "sales",
    "platform",
)
WINDY: Final = "How windy is it instead?"
PAID_TWICE: Final = "Pay the catering invoices a second time"


@dataclass(frozen=True)
class Scene:
    """One thread, by its name, and the steps that people take with it, one after the other.

    `again`: where it has ended, the next one is started with the next number behind its name.
    """

    name: str
    agent: str
    title: str
    input: Mapping[str, Any]
    team: str
    steps: tuple[Step, ...] = ()
    pause_at: str = ""
    again: bool = False


def _known(name: str, team: str, *steps: Step) -> Scene:
    """One of the threads that `up` starts in each demo."""
    agent, title, value = THREADS[name]
    return Scene(name, agent, title, value, team, steps)


def _stopped(name: str, supplier: str, title: str) -> Scene:
    """A payment that stops at the first line that cannot be read: each of them fails alike."""
    value = {"only": [supplier], "on_broken": "stop"}
    return Scene(name, "payments", title, value, FINANCE)


def _paid(name: str, title: str, suppliers: list[str], team: str, *steps: Step) -> Scene:
    approved = Decide("approve", "Amounts and accounts agree with the orders.")
    return Scene(name, "payments", title, {"only": suppliers}, team, (approved, *steps))


SCENES: Final = (
    _known(
        "demo-weather",
        RESEARCH,
        Decide("approve", "Figures checked against the source."),
        Fork(
            at=1,
            title=WINDY,
            reason="The same report about the wind.",
            changes={"measure": "wind_speed", "question": "Where does it blow?"},
        ),
    ),
    _paid(
        "demo-catering",
        "Pay Alpenblick Catering",
        ["S-105"],
        FINANCE,
        # After the bank was asked what it has paid: only the engine notices that it pays again.
        Fork(at=6, title=PAID_TWICE, reason="The supplier says that no money came."),
    ),
    _known("demo-flights", RESEARCH),
    _known("demo-invoices", FINANCE),
    _stopped("demo-broken-1", "S-101", "Pay Nordwind Logistics, stop at a broken line"),
    _stopped("demo-broken-2", "S-107", "Pay Brandt Elektrotechnik, stop at a broken line"),
    _stopped("demo-broken-3", "S-116", "Pay Grünhof Gartenbau, stop at a broken line"),
    _paid(
        "demo-refund",
        "Pay Hafenkran Service",
        ["S-103"],
        FINANCE,
        RollBack(at=8, reason="The crane was never repaired.", refusals=3),
    ),
    _paid(
        "demo-treasury",
        "Pay Tauern Spedition",
        ["S-112"],
        TREASURY,
        RollBack(at=8, reason="The freight went to the wrong warehouse."),
    ),
    Scene(
        "demo-visibility",
        "market-research",
        "How far can one see in fog?",
        {"dataset": "weather", "measure": "visib", "question": "How far can one see in fog?"},
        RESEARCH,
        pause_at="draw",
    ),
    Scene(
        "demo-gusts",
        "market-research",
        "Does the wind keep planes on the ground?",
        {"dataset": "weather", "measure": "wind_gust", "question": "How strong are gusts?"},
        RESEARCH,
        (Decide("reject", "Gusts are missing in too many rows; use wind speed."),),
    ),
    Scene(
        "demo-humidity",
        "market-research",
        "How humid is it at New York's airports?",
        {"dataset": "weather", "measure": "humid", "question": "When is it humid?"},
        RESEARCH,
        (
            Decide("approve", "Fine for the newsletter."),
            RollBack(at=1, reason="Temperature was meant, not humidity."),
        ),
    ),
    Scene(
        "demo-outreach",
        "outreach",
        "Paper bags for bakeries in Hamburg",
        {
            "looking_for": "bakeries in Hamburg that deliver",
            "offer": "Paper bags with your name on them, from 500 pieces.",
            "sender": "Olive Operator",
            "reply_to": "olive@papers.example",
        },
        SALES,
    ),
    Scene(
        "demo-retries",
        "deep-research",
        "How does Celery retry a task?",
        {"question": "How does Celery retry a task?", "at_most": 60},
        PLATFORM,
    ),
    Scene(
        "demo-packages",
        "dependency-audit",
        "All packages of this installation",
        {"at_most": 2},
        PLATFORM,
    ),
    # At work for nine hours, a short step every half minute: a late visitor sees it move.
    Scene(
        "demo-weather-watch",
        "weather-watch",
        "Records of the weather in 2013, day by day",
        {"pause": 30},
        RESEARCH,
        again=True,
    ),
)
