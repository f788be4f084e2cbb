"""What the tests of the market research agent share: a made-up table, and all steps."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gatepost_agents.market_research.analyse import analyse
from gatepost_agents.market_research.clean import clean
from gatepost_agents.market_research.load import load
from gatepost_agents.market_research.report import report

SHOP_ROWS = 12_000


@dataclass(frozen=True)
class Outcome:
    """What each step answered."""

    profile: dict[str, Any]
    summary: dict[str, Any]
    analysis: dict[str, Any]
    report: dict[str, Any]
    progress: list[tuple[int, int | None, str]]


def all_steps(
    source: str | Path, folder: Path, settings: Mapping[str, Any] | None = None
) -> Outcome:
    """Load, clean, analyse and report on `source`, with its tables in `folder`."""
    wish, news = settings or {}, []
    raw, cleaned = folder / "raw.csv.gz", folder / "clean.csv.gz"
    profile = load(source, out_path=raw, on_progress=lambda *progress: news.append(progress))
    summary = clean(raw, settings=wish, out_path=cleaned)
    analysis = analyse(cleaned, settings=wish, summary=summary, profile=profile)
    text = report(
        analysis, profile=profile, summary=summary, question=str(wish.get("question", ""))
    )
    return Outcome(profile, summary, analysis, text, news)


def shop_table(path: Path) -> Path:
    """Orders as a German shop exports them: semicolons, decimal commas, gaps, slips, repeats."""
    chance = random.Random(20240607)
    names = ("Order no", "Placed on", "Region", "Channel", "Pieces", "Discount", "Turnover (EUR)")
    lines = [";".join(names)]
    regions = {"North": 90, "South": 120, "East": 70, "West": 101}
    for order in range(SHOP_ROWS - 40):
        region, pieces = chance.choice(list(regions)), chance.randint(1, 9)
        day = f"{chance.randint(1, 28):02}.{chance.randint(1, 12):02}.2024"
        turnover = f"{regions[region] * pieces / 3 + chance.gauss(0, 60):.2f}".replace(".", ",")
        turnover = chance.choices((turnover, "", "n/a", "see invoice"), weights=(960, 25, 10, 5))[0]
        discount = f"{chance.random() / 4:.3f}".replace(".", ",") if chance.random() < 0.7 else ""
        channel = chance.choice(("web", "shop", "phone"))
        shown = region if chance.random() > 0.01 else ""
        row = (f"A-{order:06}", day, shown, channel, str(pieces), discount, turnover)
        lines.append(";".join(row))
    lines += lines[1:41]
    path.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8-sig", newline="")
    return path
