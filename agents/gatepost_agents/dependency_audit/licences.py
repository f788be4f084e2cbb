"""Which licence a package has, and what it asks of those who pass it on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# What a licence asks, from least to most; of a choice ("OR") the least counts.
KINDS = ("permissive", "weak copyleft", "copyleft", "network copyleft", "unknown")
_OF: tuple[tuple[str, str], ...] = (
    (r"\bAGPL|Affero", "network copyleft"),
    (r"\bLGPL|Lesser General|Library General", "weak copyleft"),
    (r"\bMPL|Mozilla|\bEPL|Eclipse|\bCDDL|\bEUPL", "weak copyleft"),
    (r"\bGPL|General Public", "copyleft"),
    (
        r"\bMIT\b|\bBSD|Apache|\bISC\b|\bPSF|Python Software Foundation|\bZlib\b|\b0BSD\b|\bCC0|"
        r"Unlicense|Public Domain|\bHPND\b|Historical Permission|\bPostgreSQL\b|Artistic|\bZPL|"
        r"\bBSL-1\.0|Boost|\bBlueOak|\bWTFPL|Permission is hereby granted, free of charge|"
        r"Redistribution and use in source and binary forms|Permission to use, copy, modify",
        "permissive",
    ),
)


def licence_of(licence: Mapping[str, Any]) -> dict[str, str]:
    """{"name", "kind", "from"} of what the metadata says; the expression counts before all else."""
    expression = str(licence["expression"])
    if expression:
        return {"name": expression, "kind": kind_of(expression), "from": "License-Expression"}
    classifiers = [name for name in licence["classifiers"] if name != "OSI Approved"]
    if classifiers:
        # Several classifiers are mostly a choice; the least of them may be taken.
        kind = min((kind_of(name) for name in classifiers), key=KINDS.index)
        return {"name": " / ".join(classifiers), "kind": kind, "from": "classifiers"}
    text = str(licence["text"]).strip()
    if not text:
        return {"name": "", "kind": "unknown", "from": ""}
    first = " ".join(text.split())
    return {
        "name": first if len(first) <= 60 else f"{first[:59]}…",
        "kind": kind_of(text),
        "from": "License",
    }


def kind_of(text: str) -> str:
    """The kind of an SPDX expression or of a licence's name or text."""
    if re.search(r"\sOR\s|\sAND\s", text):
        choices = [
            max((_single(one) for one in re.split(r"\sAND\s", choice)), key=KINDS.index)
            for choice in re.split(r"\sOR\s", text)
        ]
        return min(choices, key=KINDS.index)
    return _single(text)


def _single(text: str) -> str:
    for pattern, kind in _OF:
        if re.search(pattern, text, re.IGNORECASE if " " in text else 0):
            return kind
    return "unknown"
