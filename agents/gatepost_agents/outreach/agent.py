"""The researcher: find -> research, then it hands over to the writer."""

from __future__ import annotations

from typing import Any, Literal

from gatepost import END, Context, Graph

from ..payments.table import read
from .companies import DATA, SAMPLE
from .companies import find as find_companies
from .state import Outreach, Ref

WRITER = "outreach-writer"

graph = Graph(
    "outreach",
    Outreach,
    version=1,
    label="Outreach",
    description="Finds companies in a table, hands them to a writer, and each mail waits for a "
    "person.",
)


def after_finding(state: Outreach) -> Literal["hand_over", "__end__"]:
    """Without a company there is nothing to write."""
    return "hand_over" if state.leads else END


@graph.node(then=after_finding, label="Find companies")
def find(state: Outreach, ctx: Context) -> dict[str, Any]:
    """Read the table and choose the companies that fit, each with its reasons and facts."""

    def read_companies(file: Ref | None, query: dict[str, Any]) -> dict[str, Any]:
        name = str(file["name"]) if file else SAMPLE
        table = read(ctx.artifact_path(file) if file else DATA / SAMPLE, name)
        source = {"name": name, "sha256": table.sha256, "sample": file is None}
        return {"source": source, **find_companies(table, **query)}

    query = {
        "looking_for": state.looking_for,
        "most": state.most,
        "never": state.never,
        "named": state.columns,
    }
    result = ctx.activity(read_companies, state.file, query)
    sample = ", a sample of made-up companies" if result["source"]["sample"] else ""
    text = (
        f"{result['source']['name']}{sample}: {result['fitting']:,} of {result['companies']:,} "
        "companies fit and can be written to."
    )
    ctx.think(text)
    for lead in result["leads"]:
        ctx.think(f"{lead['company']}, line {lead['line']}: {'; '.join(lead['why'])}.")
    for one in result["set_aside"][:5]:
        ctx.think(f"{one['company']}, line {one['line']}, is set aside: {one['why']}.")
    return {
        "source": result["source"],
        "leads": result["leads"],
        "set_aside": result["set_aside"],
        "outcome": "" if result["leads"] else "No company fits that can be written to.",
        "log": [text],
    }


@graph.node(then=END, label="Hand over to the writer")
def hand_over(state: Outreach, ctx: Context) -> dict[str, Any]:
    """Let the writer continue from this checkpoint; nothing is looked up again."""
    ctx.hand_off(WRITER)
    number = len(state.leads)
    text = f"Handed {number:,} {'company' if number == 1 else 'companies'} to the writer."
    return {"outcome": text, "log": [text]}


__all__ = ["Outreach", "graph"]
