"""The researcher: find -> look_up, then it hands over to the writer.

A company's website is looked up where the table has it and a policy lets the agent read its host.
"""

from __future__ import annotations

from typing import Any, Literal

from gatepost import END, Context, Graph

from ..deep_research.terms import terms_of
from ..language.web import read_page
from ..payments.table import read
from .companies import DATA, SAMPLE, address_of, facts_of
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


def after_finding(state: Outreach) -> Literal["look_up", "hand_over", "__end__"]:
    """Without a company there is nothing to write, without a website nothing to look up."""
    if any(lead["website"] for lead in state.leads):
        return "look_up"
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


@graph.node(then="hand_over", label="Look the companies up")
def look_up(state: Outreach, ctx: Context) -> dict[str, Any]:
    """Read the websites of the companies; what a page says of the search becomes a fact."""

    def find_facts(text: str, looking_for: str, url: str) -> list[dict[str, str]]:
        return facts_of(text, terms_of(looking_for), url=url)

    leads, pages = [], []
    for lead in state.leads:
        page, why = read_page(ctx, address_of(lead["website"])) if lead["website"] else (None, "")
        if page is None:
            leads.append(lead)
            if why:
                ctx.think(f"{lead['company']} was not looked up. {why}")
                pages.append({"company": lead["company"], "refused": why})
            continue
        facts = ctx.activity(find_facts, page.text, state.looking_for, page.address)
        leads.append({**lead, "facts": [*lead["facts"], *facts]})
        pages.append({
            "company": lead["company"], "url": page.address, "sha256": page.sha256, "at": page.at,
            "facts": len(facts),
        })  # fmt: skip
        ctx.think(f"{page.address} says {len(facts):,} things about what you look for.")
    read = sum("url" in page for page in pages)
    return {
        "leads": leads,
        "pages": pages,
        "log": [f"Looked up {read:,} of {len(pages):,} websites."],
    }


@graph.node(then=END, label="Hand over to the writer")
def hand_over(state: Outreach, ctx: Context) -> dict[str, Any]:
    """Let the writer continue from this checkpoint; nothing is looked up again."""
    ctx.hand_off(WRITER)
    number = len(state.leads)
    text = f"Handed {number:,} {'company' if number == 1 else 'companies'} to the writer."
    return {"outcome": text, "log": [text]}


__all__ = ["Outreach", "graph"]
