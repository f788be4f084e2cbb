"""Documents lead where they say: files that are there, headings that are in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.size import ROOT

from .sources import name

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"""(?:\]\(|(?:src|href)=")([^)\s"]+)""")


@cache
def headings(page: Path) -> set[str]:
    """The anchors of a page, as its host makes them."""
    results: set[str] = set()
    for text in re.findall(r"^#{1,6} (.*)$", _FENCED.sub("", page.read_text()), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain.strip()).replace(" ", "-")
        numbered = (anchor, *(f"{anchor}-{i}" for i in range(1, 99)))
        results.add(next(one for one in numbered if one not in results))
    return results


def dead_links(page: Path) -> Iterator[str]:
    """Links of a page to files or headings that are not there."""
    for link in _LINK.findall(_FENCED.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in headings(target)):
            yield link


def test_no_link_is_dead() -> None:
    assert [f"{name(page)}: {link}" for page in PAGES for link in dead_links(page)] == []


def test_the_readme_leads_to_every_howto() -> None:
    text = (ROOT / "README.md").read_text()
    howtos = {f"docs/howto/{page.name}" for page in (ROOT / "docs/howto").glob("*.md")}
    assert len(howtos) >= 12
    assert {one for one in howtos if f"({one})" not in text} == set()


def test_each_decision_has_a_number_of_its_own() -> None:
    pages = sorted((ROOT / "docs/adr").glob("*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    assert numbers == list(range(1, len(pages) + 1))
    assert [int(page.read_text().partition(".")[0].removeprefix("# ")) for page in pages] == numbers
