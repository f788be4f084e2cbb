"""The words of a question and of a text, in a form in which "retries" and "retry" are one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

TERMS_MAX = 24
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+[a-z]+")
_ENDINGS = (
    *(("ies", "y"), ("ied", "y"), ("ie", "y")),
    *(("ing", ""), ("es", ""), ("ed", ""), ("s", ""), ("e", "")),
)
# Words of questions and of English that say nothing of the subject.
_COMMON = frozenset(
    [
        "a",
        "about",
        "after",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "between",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "done",
        "during",
        "each",
        "every",
        "for",
        "from",
        "get",
        "gets",
        "give",
        "gives",
        "go",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "keep",
        "know",
        "like",
        "make",
        "makes",
        "many",
        "may",
        "me",
        "mean",
        "means",
        "more",
        "most",
        "much",
        "must",
        "my",
        "need",
        "needs",
        "no",
        "nor",
        "not",
        "of",
        "off",
        "on",
        "once",
        "one",
        "only",
        "or",
        "other",
        "our",
        "out",
        "over",
        "own",
        "same",
        "shall",
        "she",
        "should",
        "so",
        "some",
        "such",
        "tell",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "thing",
        "things",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "us",
        "use",
        "used",
        "uses",
        "using",
        "very",
        "want",
        "was",
        "way",
        "we",
        "were",
        "what",
        "when",
        "where",
        "whether",
        "which",
        "while",
        "who",
        "why",
        "will",
        "with",
        "without",
        "would",
        "you",
        "your",
        "package",
        "packages",
        "library",
        "python",
        "work",
        "works",
        "explain",
        "find",
        "happen",
        "happens",
        "show",
        "possible",
    ]
)


def terms_of(question: str) -> list[str]:
    """The terms of a question, in its order, each once."""
    words = [word for word in words_of(question) if word not in _COMMON and len(word) > 1]
    return list(dict.fromkeys(map(term_of, words)))[:TERMS_MAX]


def subject_of(question: str, packages: Iterable[str]) -> list[str]:
    """The terms without the names of the packages themselves, which each file of them holds."""
    terms = terms_of(question)
    names = {term_of(word) for package in packages for word in words_of(package)}
    return [term for term in terms if term not in names] or terms


def words_of(text: str) -> list[str]:
    """The words in a text, of identifiers too: `retry_backoffMax` has three."""
    return [word.lower() for word in _WORD.findall(text)]


@lru_cache(maxsize=1 << 15)
def term_of(word: str) -> str:
    """A word without its ending: of "caches", "caching" and "cache" the same is left."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending) + instead
    return word
