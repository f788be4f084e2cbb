"""The table of a market-research task, and how it is to be read to work its figures out again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.faults.chaos.tasks import file_name
from tests.unit.agents.market_research.oracle import Table, reckon

ROWS, REPEATED, NOWHERE = 300, 6, 3
NAMES = ("Order no", "Placed on", "Region", "Channel", "Pieces", "Discount", "Turnover (EUR)")
REGIONS = {"North": 90, "South": 120, "East": 70, "West": 101}


def table(task: int) -> bytes:
    """Orders as a shop exports them: decimal commas, gaps, slips, rows that are there twice."""
    chance = random.Random(f"table-{task}")
    lines = [";".join(NAMES)]
    for order in range(ROWS - REPEATED):
        region, pieces = chance.choice(list(REGIONS)), chance.randint(1, 9)
        day = f"{chance.randint(1, 28):02}.{chance.randint(1, 12):02}.2025"
        turnover = f"{REGIONS[region] * pieces / 3 + chance.gauss(0, 60):.2f}".replace(".", ",")
        if order % 97 == 50:  # few enough to pass for slips: more would make it no number
            turnover = "see invoice"
        elif chance.random() < 0.03:
            turnover = ""
        discount = f"{chance.random() / 4:.3f}".replace(".", ",") if chance.random() < 0.7 else ""
        channel = chance.choice(("web", "shop", "phone"))
        if order < NOWHERE:
            region, turnover = "", f"{100 + order},50"
        row = (f"A-{task}-{order:04}", day, region, channel, str(pieces), discount, turnover)
        lines.append(";".join(row))
    lines += lines[1 : 1 + REPEATED]
    return ("\r\n".join(lines) + "\r\n").encode("utf-8-sig")


# What the start form takes beside the files; it names no column, so it steers no choice.
VALUES: dict[str, Any] = {"question": "What stands out?"}


def files(task: int) -> dict[str, tuple[str, bytes]]:
    """{field of the start form: (name, content)}."""
    return {"file": (file_name("table", task), table(task))}


def figures(path: Path) -> dict[str, Any]:
    """All figures of the report on the table at `path`, by the standard library."""
    result, _ = reckon(
        Table(
            path=path,
            measure="Turnover (EUR)",
            groups=("Region", "Channel"),
            numbers=("Pieces", "Discount"),
            period=lambda row: f"{row['Placed on'][6:10]}-{row['Placed on'][3:5]}",
            delimiter=";",
            decimal=",",
        )
    )
    return result
