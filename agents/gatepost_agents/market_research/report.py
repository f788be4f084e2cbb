"""Fifth step: drafts the report as Markdown; every figure in it is also answered as data."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..language.numbers import unknown_numbers
from ..published.markdown import escaped
from .chart import alt_text
from .figures.measures import NORMAL_95
from .figures.names import inside, title_of, with_unit
from .figures.rounding import Figures
from .input.problems import quoted

GAPS_SHOWN = 10


def report(
    analysis: Mapping[str, Any],
    *,
    profile: Mapping[str, Any],
    summary: Mapping[str, Any],
    question: str = "",
    answer: str = "",
    chart_name: str = "chart.svg",
) -> dict[str, Any]:
    """{"title", "markdown", "figures": {name: value}} from what load, clean and analyse answered.

    `figures` holds exactly the numbers that the text shows, with the values it shows. `answer` is a
    model's; numbers in it that the report does not show are named.
    """
    figures = Figures(analysis["places"])
    title = title_of(analysis)
    parts = [
        f"# {escaped(title)}",
        f"> {escaped(question)}" if question.strip() else "",
        _opening(analysis, profile, summary, figures),
        "## Findings",
        _findings(analysis, figures),
        f"![{escaped(alt_text(analysis))}]({chart_name})",
        *_tables(analysis, figures),
        "## What was left out",
        _dropped(profile, summary, figures),
        *_gaps(analysis, figures),
        "## Method",
        _method(analysis, figures),
        "## Limits",
        _limits(analysis, summary, figures),
        "## Source",
        f"{escaped(profile['source']['citation'])}. SHA-256 of the table that was read: "
        f"`{profile['source']['sha256']}`.",
    ]
    if answer.strip():
        parts[3:3] = _answer(answer, "\n\n".join([question, *parts]))
    markdown = "\n\n".join(part for part in parts if part) + "\n"
    return {"title": title, "markdown": markdown, "figures": figures.values}


def _answer(answer: str, shown: str) -> list[str]:
    """A model's answer as text, marked as such."""
    paragraphs = [escaped(part) for part in re.split(r"\n\s*\n", answer) if part.strip()]
    note = "Written by a model from the figures below."
    if unknown := unknown_numbers(answer, shown):
        note += f" These numbers of it are not among them: {', '.join(map(escaped, unknown))}."
    return ["## Answer", *paragraphs, f"*{note}*"]


def _opening(
    analysis: Mapping[str, Any], profile: Mapping[str, Any], summary: Mapping[str, Any], f: Figures
) -> str:
    return (
        f"{escaped(profile['source']['title'])}: {f.rows('rows_in', summary['rows_in'])} "
        f"read, {f.count('rows', analysis['rows'])} of them analysed here."
    )


def _findings(analysis: Mapping[str, Any], f: Figures) -> str:
    lines = []
    for number, finding in enumerate(analysis["findings"], start=1):
        f.values.update(finding["figures"])
        lines.append(f"{number}. {escaped(finding['text'])}")
    return "\n".join(lines)


def _tables(analysis: Mapping[str, Any], f: Figures) -> Iterable[str]:
    for group in analysis["groups"]:
        yield f"## By {escaped(inside(group['label']))}"
        yield _group_table(analysis, group, f)
    if analysis["trend"]:
        yield f"## By {analysis['trend']['by']}"
        rows = [
            (
                row["period"],
                f.count(f"trend.{row['period']}.rows", row["rows"]),
                f.amount(f"trend.{row['period']}.mean", row["mean"]),
            )
            for row in analysis["trend"]["rows"]
        ]
        yield _table((analysis["trend"]["by"].capitalize(), "Rows", "Mean"), rows)


def _group_table(analysis: Mapping[str, Any], group: Mapping[str, Any], f: Figures) -> str:
    rows = []
    for row in group["rows"]:
        name = f"group.{group['column']}.{row['key']}"
        low = f.amount(f"{name}.low", row["low"])
        high = f.amount(f"{name}.high", row["high"])
        rows.append(
            (
                escaped(row["label"]) + (" (few rows)" if row["few"] else ""),
                f.count(f"{name}.rows", row["rows"]),
                f.amount(f"{name}.mean", row["mean"]),
                "-" if row["low"] is None else f"{low} to {high}",
                f.amount(f"{name}.median", row["median"]),
                f.amount(f"{name}.p90", row["p90"]),
            )
        )
    heads = ("Rows", "Mean", "Confidence interval", "Median", "Nine in ten at or below")
    table = _table((escaped(group["label"]), *heads), rows)
    message = f"{escaped(with_unit(analysis))}, highest mean first."
    left = group["levels"] - len(group["rows"])
    if left:
        message += (
            f" The {f.count(f'group.{group["column"]}.left_out', left)} smallest are left out."
        )
    return f"{message}\n\n{table}"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table, the first column left, all others right."""
    lines = [" | ".join(heads), " | ".join(["---"] + ["---:"] * (len(heads) - 1))]
    lines += [" | ".join(row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _dropped(profile: Mapping[str, Any], summary: Mapping[str, Any], f: Figures) -> str:
    lines = []
    for entry in [*profile["odd"], *summary["dropped"]]:
        # One column at a time goes without a count.
        if entry.get("of") == "columns":
            lines.append(f"- The {entry['what']}: {entry['why']}.")
            continue
        name = "dropped." + entry["what"].replace("`", "")
        lines.append(f"- {f.count(name, entry['count'])} {entry['what']}: {entry['why']}.")
    lines += [f"- {note}" for note in summary["notes"]]
    return "\n".join(lines) or "Nothing: every row and every column was used."


def _gaps(analysis: Mapping[str, Any], f: Figures) -> Iterable[str]:
    if not analysis["missing"]:
        return
    yield "## Gaps in the table"
    shown = analysis["missing"][:GAPS_SHOWN]
    yield _table(
        ("Column", "Rows without a value", "Share"),
        [
            (
                escaped(gap["column"]),
                f.count(f"missing.{gap['column']}.rows", gap["missing"]),
                f.percent(f"missing.{gap['column']}.percent", gap["percent"]),
            )
            for gap in shown
        ],
    )
    left = len(analysis["missing"]) - len(shown)
    if left:
        yield f"{f.count('missing.more_columns', left)} more columns have fewer gaps."


def _method(analysis: Mapping[str, Any], f: Figures) -> str:
    measure = analysis["measure"]
    lines = [f"- Measure: {quoted(measure['name'])}, {measure['how']}."]
    for group in analysis["groups"]:
        lines.append(f"- Groups: {quoted(group['column'])}, {group['how']}.")
    if analysis["trend"]:
        lines.append(f"- Time: {quoted(analysis['trend']['column'])}.")
    f.values["method.standard_errors"] = NORMAL_95
    f.values["method.confidence_percent"] = 95
    lines += [
        f"- Confidence interval: mean -/+ {NORMAL_95} standard errors (95 %). Median and "
        "percentiles are linear between neighbouring values.",
        f"- Nothing is concluded from groups of fewer than "
        f"{f.count('method.few_rows', analysis['few_rows'])} rows; they are shown and marked.",
        f"- Figures of the measure are rounded to {f.count('method.places', analysis['places'])} "
        "decimals, ties to the even digit.",
    ]
    return "\n".join(lines)


def _limits(analysis: Mapping[str, Any], summary: Mapping[str, Any], f: Figures) -> str:
    name = analysis["measure"]["name"]
    lines = ["- These are differences and links, not causes."]
    gap = next((gap for gap in analysis["missing"] if gap["column"] == name), None)
    if gap:
        share = f.percent(f"missing.{name}.percent", gap["percent"])
        lines.append(
            f"- {share} of the rows read have no {quoted(name)}; if they differ from the others, "
            "the figures lean."
        )
    if analysis["rows_lacking"]:
        lacking = f.count("rows_lacking", analysis["rows_lacking"])
        lines.append(f"- {lacking} cleaned rows have no {quoted(name)} and are not counted.")
    lines.append("- The intervals take rows as independent of each other.")
    if summary["measure"]["name"] != name:
        lines.append(f"- The table was cleaned for {quoted(summary['measure']['name'])}.")
    return "\n".join(lines)
