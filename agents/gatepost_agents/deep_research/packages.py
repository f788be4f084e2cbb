"""The packages installed in this environment: which a question is about, and their sources."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import PurePosixPath
from typing import Any

from .terms import term_of, terms_of, words_of

CHOSEN_MAX = 6
NAMED = "the question names it"
SUFFIXES = (".py", ".pyi", ".md", ".rst", ".txt")
# Of a package's metadata only these are texts for readers; METADATA holds its description.
_ABOUT = ("METADATA", "PKG-INFO")
_LEFT_OUT = frozenset(("test", "tests", "testing", "locale", "migrations", "__pycache__"))


class UnknownPackage(ValueError):
    """A package that was named is not installed here."""


def installed() -> dict[str, metadata.Distribution]:
    """The distributions of this environment by normal name; of two the one that is imported."""
    results: dict[str, metadata.Distribution] = {}
    for distribution in metadata.distributions():
        name = distribution.metadata.get("Name")
        if name:
            results.setdefault(normal(name), distribution)
    return results


def normal(name: str) -> str:
    """A package's name as indexes compare it: small letters, one dash."""
    return re.sub(r"[-_.]+", "-", name).lower()


def choose(question: str, wished: Sequence[str]) -> list[dict[str, str]]:
    """The packages to read, [{"name", "version", "why"}]: those wished for, else the fitting ones.

    Raises UnknownPackage for a wish that is not installed.
    """
    known = installed()
    if wished:
        return _described(known, _checked(wished, known), "you named it")
    if named := _named(question, known):
        return _described(known, named, NAMED)
    if fitting := _fitting(question, known):
        return _described(known, fitting, "its description fits the question")
    return _described(known, sorted(known), "no package fits better")


def summaries(question: str) -> list[dict[str, str]]:
    """[{"name", "summary"}] of all packages, for a choice; empty where the question names one."""
    known = installed()
    if _named(question, known):
        return []
    return [
        {
            "name": known[name].metadata["Name"],
            "summary": (known[name].metadata.get("Summary") or ""),
        }
        for name in sorted(known)
    ]


def named_in(text: str, names: Iterable[str]) -> list[str]:
    """Which of these packages stand in a text, in the order there."""
    words = [normal(word) for word in re.findall(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?", text)]
    known = {normal(name): name for name in names}
    return list(dict.fromkeys(known[word] for word in words if word in known))[:CHOSEN_MAX]


def _described(
    known: Mapping[str, metadata.Distribution], names: Iterable[str], why: str
) -> list[dict[str, str]]:
    return [
        {"name": known[name].metadata["Name"], "version": known[name].version, "why": why}
        for name in names
    ]


def _checked(wished: Sequence[str], known: Iterable[str]) -> list[str]:
    names = list(dict.fromkeys(normal(name.strip()) for name in wished if name.strip()))
    wrong = []
    for name in names:
        if name not in known:
            alike = difflib.get_close_matches(name, list(known), n=3)
            hint = f" Did you mean {' or '.join(f'`{one}`' for one in alike)}?" if alike else ""
            wrong.append(f"`{name}` isn’t installed on the worker.{hint}")
    if wrong:
        raise UnknownPackage(f"{' '.join(wrong)} Correct `packages`, or leave it empty, and retry.")
    return names


def _named(question: str, known: Mapping[str, metadata.Distribution]) -> list[str]:
    """The packages whose name, or module that is imported, stands in the question."""
    words = set(re.findall(r"[a-z0-9][a-z0-9_.-]*[a-z0-9]|[a-z0-9]", question.lower()))
    words |= {normal(word) for word in words} | set(words_of(question))
    results = []
    for name, distribution in sorted(known.items()):
        modules = (distribution.read_text("top_level.txt") or "").split()
        if name in words or any(module.lower() in words for module in modules):
            results.append(name)
    return results[:CHOSEN_MAX]


def _fitting(question: str, known: Mapping[str, metadata.Distribution]) -> list[str]:
    """The packages whose description and file names hold most of the question's rarer terms.

    Okapi BM25: a long description that mentions everything once counts for little.
    """
    terms = set(terms_of(question))
    texts = {name: words_of(_about(name, known[name])) for name in known}
    held = {name: Counter(t for w in words if (t := term_of(w)) in terms)
            for name, words in texts.items()}  # fmt: skip
    usual = sum(map(len, texts.values())) / max(len(texts), 1)
    scores: dict[str, float] = {}
    for name, counts in held.items():
        length = 0.25 + 0.75 * len(texts[name]) / usual
        for term, count in counts.items():
            rarity = math.log(1 + len(known) / sum(term in other for other in held.values()))
            scores[name] = scores.get(name, 0) + rarity * count / (count + 1.2 * length)
    best = sorted(scores, key=lambda name: (-scores[name], name))
    return [name for name in best if scores[name] >= scores[best[0]] / 2][:CHOSEN_MAX]


def _about(name: str, distribution: metadata.Distribution) -> str:
    """The text to search for a package: its metadata, and the names of its sources."""
    about = distribution.metadata
    sources = " ".join(str(path) for path in distribution.files or () if is_source(path))
    return (
        f"{name} {about.get('Summary') or ''} " * 3
        + str(about.json.get("description") or "")
        + sources
    )


def sources_of(
    chosen: Sequence[Mapping[str, str]], terms: Sequence[str], at_most: int
) -> dict[str, Any]:
    """{"sources": [{"package", "version", "file"}], "left_out": count}.

    One package after the other gives its most promising source, so that each has its share.
    """
    queues = [_ranked(package, terms) for package in chosen]
    total = sum(map(len, queues))
    results: list[dict[str, str]] = []
    for turn in range(max(map(len, queues), default=0)):
        results += [queue[turn] for queue in queues if turn < len(queue)]
    return {"sources": results[:at_most], "left_out": max(0, total - at_most)}


def _ranked(package: Mapping[str, str], terms: Sequence[str]) -> list[dict[str, str]]:
    """The sources of one package, those first whose path holds a term, then its documentation."""
    wanted = set(terms)
    ranked = []
    for path in metadata.distribution(package["name"]).files or ():
        if not is_source(path):
            continue
        terms_in = {term_of(word) for word in words_of(str(path))} & wanted
        document = path.suffix != ".py"
        ranked.append((-len(terms_in), not document, len(path.parts), str(path)))
    about = {"package": package["name"], "version": package["version"]}
    return [{**about, "file": file} for *_, file in sorted(ranked)]


def is_source(path: PurePosixPath) -> bool:
    """Answer True if this file of a package is text for readers and inside of its folder."""
    if path.is_absolute() or ".." in path.parts or _LEFT_OUT & set(path.parts[:-1]):
        return False
    if path.parts[0].endswith((".dist-info", ".egg-info")):
        return path.name in _ABOUT
    return path.suffix in SUFFIXES
