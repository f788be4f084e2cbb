"""Loads the templates of long pages without their indentation, a third of what they would weigh.

Only what a template holds itself is changed, never a value: text of agents keeps its form.
"""

from __future__ import annotations

import re
from typing import Any, Final

from django.template.loaders import filesystem

LONG: Final = (
    "threads/",
    "components/thread/",
    "approvals/",
    "board/board.html",
    "board/many.html",
)
_VERBATIM = re.compile(r"(<(pre|textarea)\b.*?</\2>)", re.DOTALL | re.IGNORECASE)
_INDENTATION = re.compile(r"[ \t]*\n\s*\n[ \t]*|[ \t]*\n[ \t]+")
# Of the breaks on both sides of a tag that writes nothing one is enough.
_SILENT = re.compile(
    r"(\n (?:\{% (?:if|elif|else|endif|for|empty|endfor|with|endwith|partialdef|endpartialdef)\b"
    r"[^%]*%\}|\{#[^#]*#\}))\n "
)


def compact(source: str) -> str:
    """The source with a line break and one blank for each indentation, and no empty lines."""
    # Of the two groups of a match the second, the tag's name, is left out.
    parts = _VERBATIM.split(source)
    outside = (_without_silent(_INDENTATION.sub("\n ", part)) for part in parts[::3])
    inside = [*parts[1::3], ""]
    return "".join(out + verbatim for out, verbatim in zip(outside, inside, strict=True))


def _without_silent(source: str) -> str:
    while (shorter := _SILENT.sub(r"\1", source)) != source:
        source = shorter
    return source


class Loader(filesystem.Loader):
    """Templates of the product; those of LONG pages are compact."""

    def get_contents(self, origin: Any) -> str:
        """The source of a template."""
        source = super().get_contents(origin)
        return compact(source) if origin.template_name.startswith(LONG) else source
