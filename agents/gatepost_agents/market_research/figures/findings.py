"""Says in plain sentences what the figures show; each sentence carries its figures as data."""

from collections.abc import Mapping
from typing import Any

from .names import NO_VALUE, inside
from .rounding import Figures, rounded

STRONG, CLEAR = 0.7, 0.3
LITTLE_PERCENT = 10


def findings(analysis: Mapping[str, Any]) -> list[dict[str, Any]]:
    """[{"text", "figures": {name: value}}], the most general first; takes what `analyse` has."""
    messages = [_overall(analysis)]
    for group in analysis["groups"]:
        messages += _spread(analysis, group)
    if analysis["trend"]:
        messages.append(_trend(analysis))
    if analysis["correlation"]:
        messages.append(_correlation(analysis))
    return messages


def _finding(text: str, figures: Figures) -> dict[str, Any]:
    return {"text": text, "figures": figures.values}


def _unit(analysis: Mapping[str, Any]) -> str:
    unit = analysis["measure"]["unit"]
    return f" {unit}" if unit else ""


def _overall(analysis: Mapping[str, Any]) -> dict[str, Any]:
    figures = Figures(analysis["places"])
    about, unit = analysis["overall"], _unit(analysis)
    text = (
        f"{analysis['measure']['label']} is {figures.amount('overall.mean', about['mean'])}{unit} "
        f"on average over {figures.rows('rows', analysis['rows'])}. Half of the rows lie at "
        f"{figures.amount('overall.median', about['median'])} or below, nine in ten at "
        f"{figures.amount('overall.p90', about['p90'])} or below."
    )
    gap = rounded(about["mean"] - about["median"], analysis["places"])
    many = analysis["rows"] >= analysis["few_rows"]
    if many and about["deviation"] and gap is not None and abs(gap) > about["deviation"] / 5:
        way = "above" if gap > 0 else "below"
        pull = "high" if gap > 0 else "low"
        shown = figures.amount("overall.mean_minus_median", abs(gap))
        text += f" The mean lies {shown} {way} the median: a few very {pull} values pull it."
    return _finding(text, figures)


def _spread(analysis: Mapping[str, Any], group: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Highest and lowest group, how sure the order is, and how much the groups explain."""
    solid = [row for row in group["rows"] if not row["few"] and row["key"] != NO_VALUE]
    if len(solid) < 2:
        return []
    figures, unit = Figures(analysis["places"]), _unit(analysis)
    top, second, bottom = solid[0], solid[1], solid[-1]

    def mean(row: Mapping[str, Any]) -> str:
        return figures.amount(f"group.{group['column']}.{row['key']}.mean", row["mean"])

    def rows(row: Mapping[str, Any]) -> str:
        return figures.rows(f"group.{group['column']}.{row['key']}.rows", row["rows"])

    gap = rounded(top["mean"] - bottom["mean"], analysis["places"])
    text = (
        f"By {inside(group['label'])}, {top['label']} has the highest mean, {mean(top)}{unit} "
        f"({rows(top)}), and {bottom['label']} the lowest, {mean(bottom)} ({rows(bottom)}): "
        f"{figures.amount(f'group.{group["column"]}.gap', gap)} apart."
    )
    if len(solid) > 2 and second["high"] >= top["low"]:
        text += (
            f" The lead over {second['label']} ({mean(second)}) is not certain: their intervals "
            "overlap."
        )
    messages = [_finding(text, figures)]
    if group["explained"] is not None:
        figures = Figures(analysis["places"])
        share = figures.percent(f"group.{group['column']}.explained", group["explained"])
        little = group["explained"] < LITTLE_PERCENT
        rest = (
            "so most of what makes the difference lies elsewhere"
            if little
            else "so it is worth looking at first"
        )
        messages.append(
            _finding(
                f"{group['label']} explains {share} of the differences between single rows "
                f"(share of variance), {rest}.",
                figures,
            )
        )
    return messages


def _trend(analysis: Mapping[str, Any]) -> dict[str, Any]:
    figures, unit = Figures(analysis["places"]), _unit(analysis)
    trend = analysis["trend"]
    high = max(trend["rows"], key=lambda row: row["mean"])
    low = min(trend["rows"], key=lambda row: row["mean"])
    text = (
        f"Over time the highest {trend['by']} is {high['period']} with a mean of "
        f"{figures.amount(f'trend.{high["period"]}.mean', high['mean'])}{unit}, the lowest "
        f"{low['period']} with {figures.amount(f'trend.{low["period"]}.mean', low['mean'])}."
    )
    return _finding(text, figures)


def _correlation(analysis: Mapping[str, Any]) -> dict[str, Any]:
    figures = Figures(analysis["places"])
    pair = analysis["correlation"]
    size = abs(pair["r"])
    how = "strong" if size >= STRONG else "clear" if size >= CLEAR else "weak"
    way = "they rise together" if pair["r"] >= 0 else "one falls as the other rises"
    text = (
        f"Of the other numbers, {inside(pair['label'])} goes with it most closely: a {how} link, "
        f"{way} (r = {figures.ratio('correlation.r', pair['r'])}, "
        f"{figures.rows('correlation.rows', pair['rows'])})."
    )
    return _finding(text, figures)
