"""Checks the numbers in brackets, such as [3], by which a model's answer names its sources."""

from __future__ import annotations

import re
from typing import Any

_NUMBERS = re.compile(r"\[(\d{1,4}(?:\s*,\s*\d{1,4})*)\]")


def cited(text: str) -> list[int]:
    """The numbers that a text cites, each once, in order."""
    numbers = (int(one) for group in _NUMBERS.findall(text) for one in group.split(","))
    return list(dict.fromkeys(numbers))


def check_citations(text: str, sources: int) -> dict[str, Any]:
    """{"cited", "unknown": numbers that no source has, "uncited": paragraphs that cite nothing}."""
    numbers = cited(text)
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    return {
        "cited": sorted(n for n in numbers if 1 <= n <= sources),
        "unknown": sorted(n for n in numbers if not 1 <= n <= sources),
        "uncited": sum(not cited(part) for part in paragraphs),
    }
