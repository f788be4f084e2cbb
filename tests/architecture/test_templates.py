"""Templates under a strict policy: nothing inline, nothing from elsewhere, regions by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STATIC = sorted((ROOT / "dashboard/static").rglob("*"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_template_has_nothing_inline_and_nothing_foreign(path: Path) -> None:
    text = re.sub(r"{#.*?#}", "", path.read_text(), flags=re.DOTALL)
    assert not re.search(r"\sstyle=", text)
    assert not re.search(r"<style\b", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>", text)
    assert not re.search(r"\son[a-z]+=", text)
    assert not re.search(r"""(src|href)=["']https?://""", text)
    assert "|safe" not in text.replace(" ", "")


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_region_is_named_like_its_root(path: Path) -> None:
    text = re.sub(r"{#.*?#}", "", path.read_text(), flags=re.DOTALL)
    for name, body in re.findall(
        r"{% partialdef (\S+)(?: inline)? %}(.*?){% endpartialdef", text, re.DOTALL
    ):
        root = re.search(r"<[a-z][^>]*>", body)
        if root and "data-region" in root.group(0):
            assert re.search(rf"""\bid=["']{re.escape(name)}["']""", root.group(0)), name


def test_no_static_file_asks_another_host() -> None:
    for path in STATIC:
        if path.suffix in {".css", ".js", ".svg"}:
            text = path.read_text().replace("http://www.w3.org", "")
            assert not re.search(r"https?://", text), path


LINE_MAX = 160


def test_lines_can_be_read_and_edited() -> None:
    """A sentence with conditions in it is broken at a space: the page shows no difference."""
    long = [
        f"{path.relative_to(ROOT)}:{n}"
        for path in TEMPLATES
        for n, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LINE_MAX
    ]
    assert not long


def test_lines_are_short_on_the_whole() -> None:
    lengths = [len(line) for path in TEMPLATES for line in path.read_text().splitlines()]
    assert sum(lengths) / len(lengths) < 60


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_template_calls_a_method_that_a_key_can_hide(path: Path) -> None:
    """`labels.items` is the label called `items` if there is one; `labels|pairs` never is."""
    text = re.sub(r"{#.*?#}", "", path.read_text(), flags=re.DOTALL)
    assert not re.search(r"{%[^%]*\.(items|keys|values)\b[^%]*%}", text)
