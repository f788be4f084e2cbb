"""Answers by extraction: the facts of a few events that have every word of a question.

A fact answers only where nothing that was asked for is missing: each word stands in it or in what
it belongs to, and it has what the question wants (a person, a time, a number, a reason). So a
question that the record does not answer gets no answer, and neither does one in other words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkpoints.queries.history.passages import Passage
from checkpoints.states import EventKind as K

from .facts import Fact, around, facts_of
from .parsed_question import ParsedQuestion, Wants, is_negated, is_possible
from .word_forms import all_stems, stem, stems

ANSWERS_MAX: Final = 3
_DIGIT: Final = re.compile(r"\d")
_AMOUNT: Final = re.compile(r"[^\W\d]{0,3}\W?[\d.,]*\d(\s?[^\W\d]{1,15}|\s?%)?")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_YEAR: Final = re.compile(r"(1[5-9]|20)\d\d")
# Events about what was to be done; whether it was done, others say.
PROPOSING: Final = frozenset(
    {
        *(K.APPROVAL_REQUESTED, K.APPROVAL_DECIDED, K.APPROVAL_SETTLED, K.APPROVAL_ESCALATED),
        *(K.APPROVAL_REMINDED, K.DECISION_RECORDED, K.DECISION_TAKEN_BACK, K.DECISION_REFUSED),
        K.EFFECT_STARTED,
    }
)
_OF_PROPOSALS: Final = frozenset(
    stem(word)
    for word in (
        *("approve", "reject", "decide", "request", "propose", "proposal", "ask", "risk"),
        *("comment", "verdict", "decision", "begin", "respond", "edit", "block", "agree"),
    )
)
_SAY: Final = re.compile(r"\b(say|says|said)\b", re.I)
_NEAR: Final = 3  # words between a number and what it counts
_REASONS: Final = frozenset({"why", "reason", "because", "comment", "error", "cause"})
_COUNTS: Final = frozenset({"count", "number", "total", "n"})


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer, and the event that it rests on."""

    text: str
    passage: Passage


@dataclass(frozen=True, slots=True)
class Extracted:
    """Sentences that answer a question, best first; none, and the words that no event had."""

    sentences: tuple[Sentence, ...]
    missing: tuple[str, ...]


def extract(
    question: ParsedQuestion, passages: Sequence[Passage], people: Mapping[str, str]
) -> Extracted:
    """Answer a question from these events."""
    needed = set(question.words)
    if not needed:
        return Extracted((), ())
    scored: list[tuple[float, Fact]] = []
    there: set[str] = set()
    for passage in passages:
        context = around(passage)
        for fact in facts_of(passage, people):
            own = fact.own & needed
            there |= own | (context & needed)
            if own and needed <= own | context and _fits(question, fact):
                scored.append((_score(question, fact, len(own)), fact))
    scored.sort(key=lambda pair: (-pair[0], pair[1].rank, *_age(pair[1])))
    if not scored:
        return Extracted((), tuple(sorted(needed - there)))
    best = scored[0][0]
    chosen: dict[str, Fact] = {}
    for score, fact in scored:
        if score >= best - 0.05:
            chosen.setdefault(_answer_key(fact), fact)
    sentences = [
        Sentence(_text(question, fact), fact.passage)
        for fact in list(chosen.values())[:ANSWERS_MAX]
    ]
    return Extracted(tuple(sentences), ())


def asks_about_proposals(question: ParsedQuestion) -> bool:
    """Return whether events about what was to be done can answer a question."""
    return bool(_OF_PROPOSALS & set(question.words) or _SAY.search(question.text))


def _age(fact: Fact) -> tuple[float, int]:
    """Put the newest of a value first, and of sentences the one that was said first."""
    sign = -1 if fact.label else 1
    return sign * fact.passage.at.timestamp(), sign * fact.passage.seq


def _score(question: ParsedQuestion, fact: Fact, n_own: int) -> float:
    """Rate how much of a question is in the fact itself, and how little else."""
    of_question = n_own / len(question.words)
    of_fact = n_own / max(1, len(fact.own)) if not fact.label else 0.5
    label = 0.3 if fact.label and all_stems(fact.label) & set(question.words) else 0.0
    event = (
        0.3 if fact.is_event and question.wants in (Wants.PERSON, Wants.TIME, Wants.WHETHER) else 0
    )
    nothing = -0.1 if question.wants is Wants.COUNT and fact.spoken[:1] == ["0"] else 0.0
    return of_question + 0.4 * of_fact + label + event + nothing


def _answer_key(fact: Fact) -> str:
    """Identify what a fact answers: two facts with one key are one answer."""
    if fact.label:
        return f"{stem(fact.label)} of {fact.text.partition('(')[2]} in {fact.passage.thread}"
    return " ".join(fact.spoken)


def _text(question: ParsedQuestion, fact: Fact) -> str:
    text = fact.text if fact.text.endswith((".", "!", "?", "”")) else f"{fact.text}."
    if question.wants is Wants.PERSON and fact.by and fact.by.casefold() not in text.casefold():
        return f"{fact.by}: {text}"
    return text


def _fits(question: ParsedQuestion, fact: Fact) -> bool:
    """Return whether a fact has what the question wants."""
    if fact.is_one_of_many and not _names_row(question, fact):
        return False
    if fact.passage.kind in PROPOSING and not asks_about_proposals(question):
        return False
    if not fact.label and question.wants is not Wants.REASON and _says_otherwise(question, fact):
        return False
    new = [word for word in fact.spoken if stem(word) not in question.words]
    match question.wants:
        case Wants.PERSON:
            return fact.is_event and bool(fact.by)
        case Wants.TIME:
            if fact.label:
                return _is_named(question, fact) and bool(_DAY.match(str(fact.value)))
            if fact.is_event or fact.rank == 1:
                return True
            return any(_YEAR.fullmatch(word) or _DAY.match(word) for word in new)
        case Wants.COUNT:
            return _counts(question, fact)
        case Wants.AMOUNT:
            if fact.label:
                return _is_named(question, fact) and bool(_AMOUNT.fullmatch(str(fact.value)))
            return any(_DIGIT.search(word) for word in new)
        case Wants.REASON:
            if fact.label:
                return bool(all_stems(fact.label) & _REASONS) and len(str(fact.value).split()) > 2
            return len(new) >= 4
        case Wants.WHETHER:
            return not fact.label or (isinstance(fact.value, bool) and _is_named(question, fact))
        case _:
            if fact.label:
                return _is_named(question, fact) and not set(stems(str(fact.value))) <= set(
                    question.words
                )
            return len(new) >= 1


def _names_row(question: ParsedQuestion, fact: Fact) -> bool:
    """Return whether a question says which row of a list it is about."""
    return bool(fact.which & set(question.words))


def _says_otherwise(question: ParsedQuestion, fact: Fact) -> bool:
    """Return whether a clause with words of the question says “not” or “to be”, and it does not."""
    for clause in fact.clauses:
        if set(question.words) & all_stems(clause) and (
            (is_negated(clause) and not question.negated)
            or (is_possible(clause) and not question.possible)
        ):
            return True
    return False


def _is_named(question: ParsedQuestion, fact: Fact) -> bool:
    return bool(all_stems(fact.label) & set(question.words))


def _counts(question: ParsedQuestion, fact: Fact) -> bool:
    """Return whether a number stands beside what is counted."""
    if fact.label:
        is_number = isinstance(fact.value, int) and not isinstance(fact.value, bool)
        label = all_stems(fact.label)
        return is_number and bool(
            label & set(question.counted) or (label & _COUNTS and _is_named(question, fact))
        )
    words = fact.spoken
    for index, word in enumerate(words):
        if _DIGIT.search(word) and word not in question.words:
            beside = words[max(0, index - 2) : index] + words[index + 1 : index + 1 + _NEAR]
            if not question.counted or any(stem(other) in question.counted for other in beside):
                return True
    return False
