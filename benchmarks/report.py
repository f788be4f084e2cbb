"""A row's JSON line: computed from what was measured and the budget, nowhere else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .budgets import BUDGETS


@dataclass(slots=True)
class Measured:
    """What a row's module found.

    `values` has a figure for each part of the budget. `baselines` names absolute figures of the
    baseline of the same run by part; `details` is whatever else helps to read the row.
    """

    values: dict[str, float]
    baselines: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


def line(row: int, measured: Measured, **more: Any) -> dict[str, Any]:
    """The line of a measured row.

    `value`, `unit`, `budget`, `baseline` and `ratio` are those of the part that is nearest to its
    limit, so that `ok` follows from `value` and `budget` alone; `parts` has them all.
    """
    budget = BUDGETS[row]
    missing = set(budget.parts) - set(measured.values)
    if missing:
        return failed(row, f"not measured: {', '.join(sorted(missing))}", **more)
    parts = {
        name: {
            "value": tidy(measured.values[name]),
            "unit": part.unit,
            "baseline": tidy(measured.baselines.get(name)),
            "ratio": tidy(measured.ratios.get(name)),
            "budget": part.limit,
            "sense": part.sense,
            "ok": part.holds(tidy(measured.values[name])),
        }
        for name, part in budget.parts.items()
    }
    nearest = max(budget.parts, key=lambda n: budget.parts[n].strain(parts[n]["value"]))
    shown = parts[nearest]
    return {
        "row": row,
        "what": f"{budget.what}: {nearest}",
        **{key: shown[key] for key in ("value", "unit", "baseline", "ratio", "budget", "sense")},
        "ok": all(part["ok"] for part in parts.values()),
        "parts": parts,
        **measured.details,
        **more,
    }


def failed(row: int, why: str, **more: Any) -> dict[str, Any]:
    """The line of a row that could not be measured."""
    budget = BUDGETS.get(row)
    return {
        "row": row,
        "what": budget.what if budget else "unknown row",
        "value": None,
        "unit": None,
        "baseline": None,
        "ratio": None,
        "budget": None,
        "ok": False,
        "error": why,
        **more,
    }


def tidy(value: Any) -> Any:
    """A figure as people read it: four significant digits."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def dumped(results: Mapping[str, Any]) -> str:
    """One line of JSON."""
    return json.dumps(results, separators=(", ", ": "), allow_nan=False, default=str)
