"""Finds in a table of companies those that somebody looks for, and says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..deep_research.terms import term_of, terms_of, words_of
from ..payments.mail import is_address
from ..payments.table import Field, Table, columns

DATA = Path(__file__).parent / "data"
SAMPLE = "sample-companies.csv"
NO = frozenset(("no", "n", "false", "0", "nein", "non", "opted out", "opt out", "unsubscribed"))
FIELDS = (
    Field("company", ("name", "organisation", "organization", "account", "firma")),
    Field("mail", ("email", "e-mail", "mail address", "email address"), optional=True),
    Field("contact", ("contact person", "person", "ansprechpartner"), optional=True),
    Field("industry", ("sector", "branch", "branche", "category"), optional=True),
    Field("city", ("town", "ort", "location"), optional=True),
    Field("country", ("land", "nation"), optional=True),
    Field("employees", ("staff", "size", "headcount", "mitarbeiter"), optional=True),
    Field("about", ("description", "what they do", "beschreibung"), optional=True),
    Field("website", ("web", "url", "homepage", "web site", "webseite"), optional=True),
    Field("allowed", ("contact allowed", "may contact", "consent", "opt in"), optional=True),
)
LINE_MAX, LINES_MAX = 300, 2  # of a page, as facts
WEIGHTS = {"industry": 3, "about": 2, "city": 2, "country": 2, "company": 1}

Lead = dict[str, Any]


def find(
    table: Table,
    looking_for: str,
    *,
    most: int,
    never: Sequence[str] = (),
    named: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """{"companies", "leads": [lead], "set_aside": [{"line", "company", "why"}], "terms"}.

    A lead: {"company", "mail", "contact", "website", "line", "score", "why": [text], "facts":
    [fact]}, the best first; a fact: {"field", "column", "text"} of the same line. What fits and
    cannot or must not be written to is set aside. Raises MissingColumn and UnusableSetting.
    """
    places = columns(table, FIELDS, named or {})
    terms = terms_of(looking_for)
    refused = {name.strip().casefold() for name in never}
    leads: list[Lead] = []
    aside: list[dict[str, str]] = []
    companies = 0
    mails: set[str] = set()
    for line, cells in table.records(places):
        if not cells["company"]:
            continue
        companies += 1
        score, why = _score(cells, terms)
        if not score:
            continue
        if reason := _refusal(cells, refused, mails):
            aside.append({"line": str(line), "company": cells["company"], "why": reason})
            continue
        mails.add(cells["mail"].casefold())
        facts = [
            {"field": field, "column": table.header[at], "text": cells[field]}
            for field, at in places.items()
            if field not in ("mail", "contact", "website", "allowed") and cells[field]
        ]
        leads.append({
            "company": cells["company"], "mail": cells["mail"],
            "contact": cells.get("contact", ""), "line": line,
            "website": cells.get("website", ""), "score": score, "why": why, "facts": facts,
        })  # fmt: skip
    leads.sort(key=lambda lead: (-lead["score"], lead["line"]))
    return {
        "companies": companies,
        "leads": leads[:most],
        "fitting": len(leads),
        "set_aside": aside,
        "terms": terms,
    }


def _score(cells: Mapping[str, str], terms: Sequence[str]) -> tuple[int, list[str]]:
    """Score a company's fit, with the reasons; each term counts once, where it weighs most."""
    score, why = 0, []
    held = {field: {term_of(word) for word in words_of(cells.get(field, ""))} for field in WEIGHTS}
    for term in terms:
        field = next((field for field in WEIGHTS if term in held[field]), "")
        if field:
            score += WEIGHTS[field]
            why.append(f"{field}: {cells[field]}")
    return score, list(dict.fromkeys(why))


def _refusal(cells: Mapping[str, str], refused: set[str], mails: set[str]) -> str:
    """Explain why nobody may write to the company; empty where one may."""
    if cells["company"].casefold() in refused:
        return "you never write to it"
    if cells.get("allowed", "").casefold() in NO:
        return "it does not want to be contacted"
    if not is_address(cells.get("mail", "")):
        return "it has no mail address that mail can go to"
    if cells["mail"].casefold() in mails:
        return "another line has the same mail address"
    return ""


def address_of(website: str) -> str:
    """The address of a page; a table often leaves https:// out."""
    return website if "://" in website else f"https://{website}"


def facts_of(text: str, terms: Sequence[str], *, url: str) -> list[dict[str, str]]:
    """The lines of a company's page that hold most of the terms, as facts; word for word."""
    wanted, held = frozenset(terms), []
    for number, line in enumerate(text.split("\n")):
        terms_held = {term for word in words_of(line) if (term := term_of(word)) in wanted}
        if terms_held and len(line) <= LINE_MAX:
            held.append((-len(terms_held), number, line))
    return [
        {"field": "website", "column": url, "text": line} for _, _, line in sorted(held)[:LINES_MAX]
    ]
