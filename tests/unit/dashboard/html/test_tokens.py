"""Colours: readable on their tints, and told apart by people who see fewer of them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from dashboard.html.lineage import COLOURS

TOKENS = Path(__file__).parents[4] / "dashboard/static/dashboard/css/tokens.css"
STATUS = ("run", "wait", "stuck", "fail", "done", "idle")
# Machado, Oliveira and Fernandes 2009, full strength, in linear RGB.
SEEN_BY = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
               (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
               (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
               (0.004733, 0.691367, 0.303900)),
}  # fmt: skip
RGB = tuple[float, float, float]


def tokens(theme: str) -> dict[str, RGB]:
    """{name: linear RGB} of one theme."""
    results = {}
    for name, light, dark in re.findall(
        r"--([a-z0-9-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\);", TOKENS.read_text()
    ):
        raw = light if theme == "light" else dark
        parts = [int(raw[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        results[name] = (r, g, b)
    return results


def contrast(a: RGB, b: RGB) -> float:
    """WCAG contrast ratio."""
    lights = sorted(0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] for c in (a, b))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def lab(colour: RGB, kind: str) -> RGB:
    """CIE Lab of a colour as a person of this kind sees it."""
    seen = [
        min(max(sum(f * c for f, c in zip(row, colour, strict=True)), 0.0), 1.0)
        for row in SEEN_BY[kind]
    ]
    r, g, b = seen
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_are_readable_where_they_stand(theme: str) -> None:
    t = tokens(theme)
    for name in STATUS:
        for ground in (f"{name}-bg", "surface"):
            assert contrast(t[name], t[ground]) >= 4.5, (name, ground)
    for ground in ("bg", "surface", "surface-2", "select", "add-bg", "chg-bg", "del-bg"):
        assert contrast(t["text"], t[ground]) >= 7, ground
        assert contrast(t["muted"], t[ground]) >= 4.5, ground
    for lane in range(1, COLOURS + 1):
        for ground in ("surface", "select", "surface-2"):
            assert contrast(t[f"lane-{lane}"], t[ground]) >= 4.5, (lane, ground)
    assert contrast(t["link"], t["surface"]) >= 4.5
    assert contrast(t["on-primary"], t["primary"]) >= 7
    assert contrast(t["line-strong"], t["surface"]) >= 3


@pytest.mark.rubric(21)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", SEEN_BY)
def test_statuses_are_told_apart_by_everybody(theme: str, kind: str) -> None:
    t = tokens(theme)
    for a, b in itertools.combinations(STATUS, 2):
        pair = zip(lab(t[a], kind), lab(t[b], kind), strict=True)
        assert sum((x - y) ** 2 for x, y in pair) ** 0.5 >= 15, (a, b)
