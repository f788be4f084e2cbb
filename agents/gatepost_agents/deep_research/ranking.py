"""Chooses the passages that say most about a question, by how rare the terms are that they hold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

CITED_MAX = 12
NAMED = 1.5  # a function or heading that is called so weighs more than a line that mentions it
DOCUMENT = 1.2


def rank(
    notes: Sequence[Mapping[str, Any]],
    *,
    terms: Sequence[str],
    counts: Mapping[str, int],
    sources: int,
) -> list[dict[str, Any]]:
    """The best notes, numbered from 1; a text that stands in several files is taken once.

    `counts` are {term: sources that hold it} of all `sources` that were read.
    """
    rarity = {term: math.log(1 + sources / counts[term]) for term in terms if counts.get(term)}
    scored = [(-_score(note, rarity, len(terms)), number) for number, note in enumerate(notes)]
    results: list[dict[str, Any]] = []
    texts: set[str] = set()
    for score, number in sorted(scored):
        note = notes[number]
        if score == 0 or len(results) == CITED_MAX:
            break
        if note["text"].strip() in texts:
            continue
        texts.add(note["text"].strip())
        results.append({"number": len(results) + 1, **note})
    return results


def _score(note: Mapping[str, Any], rarity: Mapping[str, float], terms: int) -> float:
    counts = note["terms"]
    held = sum(rarity[t] * (1 + math.log(n)) for t, n in counts.items() if t in rarity)
    named = sum(rarity[t] for t in note["named"] if t in rarity)
    document = DOCUMENT if not note["file"].endswith((".py", ".pyi")) else 1.0
    return (held + NAMED * named) * document * len(counts) / max(terms, 1)


def read_on(notes: Sequence[Mapping[str, Any]], at_most: int = 10) -> list[tuple[str, str, int]]:
    """(package, file, lines with a term in its passages) of the files that hold most."""
    counter: Counter[tuple[str, str]] = Counter()
    for note in notes:
        counter[note["package"], note["file"]] += sum(note["terms"].values())
    best = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(package, file, count) for (package, file), count in best[:at_most]]
