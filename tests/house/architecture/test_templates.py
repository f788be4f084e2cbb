"""Templates under a strict policy: nothing inline, nothing from elsewhere, regions by name."""

from __future__ import annotations

import re
from pathlib import Path

from tools.size import ROOT

from .sources import name

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STATIC = sorted((ROOT / "dashboard/static").rglob("*"))


def text_of(path: Path) -> str:
    """A template without its comments."""
    return re.sub(r"{#.*?#}", "", path.read_text(), flags=re.DOTALL)


def matches(pattern: str) -> list[str]:
    """What of the templates matches, with the path before it."""
    return [
        f"{name(path)}: {match.group()}"
        for path in TEMPLATES
        for match in re.finditer(pattern, text_of(path))
    ]


def test_a_template_has_nothing_inline_and_nothing_foreign() -> None:
    assert matches(r"\sstyle=") == []
    assert matches(r"<style\b") == []
    assert matches(r"<script(?![^>]*\bsrc=)[^>]*>") == []
    assert matches(r"\son[a-z]+=") == []
    assert matches(r"""(src|href)=["']https?://""") == []
    assert matches(r"\|\s*safe") == []


def test_a_link_in_a_text_is_seen_to_be_one() -> None:
    """Links have the colour of what is around them unless their class says otherwise."""
    # A row of the records is a link as a whole.
    text = r"""(?s)<(p(?! class="what")|dd)\b[^>]*>(?:(?!</\1>).)*?<a (?![^>]*\bclass=)[^>]*>"""
    assert matches(text) == []


# Folders of templates that belong to no room of the dashboard: shared ones, and those that Django,
# django.contrib and drf-spectacular look for.
SHARED = {"action", "admin", "components", "drf_spectacular", "registration"}


def test_templates_lie_under_the_name_of_their_room() -> None:
    rooms = {path.name for path in (ROOT / "dashboard").iterdir() if path.is_dir()}
    places = [path.relative_to(ROOT / "templates").parts for path in TEMPLATES]
    assert {folder for folder, *below in places if below} - rooms == SHARED


def test_a_region_is_named_like_its_root() -> None:
    roots = matches(r"<[a-z][^>]*\bdata-region=[^>]*>")
    named = r"""\bid=["']([\w-]+)["'].*\bdata-region=["']\1["']"""
    assert len(roots) > 20
    assert [root for root in roots if not re.search(named, root, re.DOTALL)] == []


def test_no_static_file_asks_another_host() -> None:
    for path in STATIC:
        if path.suffix in {".css", ".js", ".svg"}:
            text = path.read_text().replace("http://www.w3.org", "")
            assert not re.search(r"https?://", text), path


LINE_MAX = 160


def test_lines_can_be_read_and_edited() -> None:
    """A sentence with conditions in it is broken at a space: the page shows no difference."""
    long = [
        f"{name(path)}:{n}"
        for path in TEMPLATES
        for n, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LINE_MAX
    ]
    assert not long


def test_lines_are_short_on_the_whole() -> None:
    lengths = [len(line) for path in TEMPLATES for line in path.read_text().splitlines()]
    assert sum(lengths) / len(lengths) < 60


def test_no_template_calls_a_method_that_a_key_can_hide() -> None:
    """`labels.items` is the label called `items` if there is one; `labels|pairs` never is."""
    assert matches(r"{%[^%]*\.(items|keys|values)\b[^%]*%}") == []
