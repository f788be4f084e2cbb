"""What one source yields: passages that are its lines, at the place that they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatepost_agents.deep_research.packages import (
    UnknownPackage,
    choose,
    is_source,
    named_in,
    sources_of,
)
from gatepost_agents.deep_research.passages import LINE_MAX, PASSAGES_MAX, WINDOW, passages
from gatepost_agents.deep_research.terms import subject_of, term_of, terms_of
from gatepost_agents.language.citations import check_citations

WORDS = ["retry", "Retries", "task_retry", "RetryTask", "tasks", "wait", "=====", "# Retry", "def"]
LINES = st.lists(
    st.lists(st.sampled_from([*WORDS, "x", "\f", "\u2028", "`" * 3]), max_size=6).map(" ".join),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(lines=LINES, ended=st.booleans(), python=st.booleans())
def test_a_passage_is_exactly_the_lines_that_it_names(
    lines: list[str], ended: bool, python: bool
) -> None:
    text = "\n".join(lines) + ("\n" if ended else "")
    result = passages(text, ["retry", "task"], python=python)
    there = text.split("\n")
    spans: list[range] = []
    for passage in result["passages"]:
        assert there[passage["line"] - 1 : passage["end"]] == passage["text"].split("\n")
        assert 1 <= passage["end"] - passage["line"] + 1 <= WINDOW
        assert set(passage["terms"]) == {"retry", "task"}
        span = range(passage["line"], passage["end"] + 1)
        assert all(not set(span) & set(other) for other in spans), "passages overlap"
        spans.append(span)
    assert len(spans) <= PASSAGES_MAX
    both = re.search(r"(?i)retr", text) and re.search(r"(?i)task", text)
    assert both or not spans


def test_the_function_or_heading_around_a_passage_is_named() -> None:
    source = "class Task:\n    def wait(self):\n        # retry the task\n        return 1\n"
    (passage,) = passages(source, ["retry", "task"], python=True)["passages"]
    assert (passage["where"], passage["named"]) == ("Task", ["task"])
    (passage,) = passages("Retrying\n========\n\nThe task again.\n", ["retry", "task"],
                          python=False)["passages"]  # fmt: skip
    assert (passage["line"], passage["where"]) == (1, "Retrying")


def test_endless_lines_are_no_passage() -> None:
    text = "retry task " * LINE_MAX
    result = passages(text, ["retry", "task"], python=False)
    assert (result["passages"], result["counts"]) == ([], {"retry": 1, "task": 1})


@pytest.mark.parametrize(
    "words",
    [
        ("retry", "retries", "retried", "retrying"),
        ("cookie", "cookies"),
        ("cache", "caches", "caching", "cached"),
        ("lock", "locks", "locked", "locking"),
    ],
    ids=lambda words: words[0],
)
def test_forms_of_a_word_are_one_term(words: tuple[str, ...]) -> None:
    assert len(set(map(term_of, words))) == 1


def test_a_question_s_terms_are_its_own_words_without_the_package() -> None:
    assert terms_of("How does it work?") == []
    terms = subject_of("How does Celery retry a task?", ["celery"])
    assert terms == ["retry", "task"]
    assert subject_of("What is Celery?", ["celery"]) == ["celery"], "better than none"


@pytest.mark.slow
def test_packages_are_those_named_else_those_that_fit() -> None:
    assert [one["name"] for one in choose("How does celery retry?", [])] == ["celery"]
    assert [one["name"] for one in choose("anything", ["Django", "django"])] == ["Django"]
    assert "Django" in [one["name"] for one in choose("How do I sign a cookie?", [])]
    with pytest.raises(UnknownPackage, match="Did you mean `celery`"):
        choose("", ["celry"])
    assert named_in("celery, then Kombu; not spam", ["kombu", "celery"]) == ["celery", "kombu"]


def test_each_chosen_package_has_its_share_and_what_is_left_out_is_counted() -> None:
    chosen = choose("", ["celery", "kombu"])
    everything = sources_of(chosen, ["retry"], 10_000)
    some = sources_of(chosen, ["retry"], 20)
    assert some["sources"] == everything["sources"][:20]
    assert some["left_out"] == len(everything["sources"]) - 20
    names = [one["package"] for one in some["sources"]]
    assert names.count("celery") == names.count("kombu") == 10
    assert all(is_source(Path(one["file"])) for one in everything["sources"])


@pytest.mark.parametrize(
    "path",
    [
        "../../bin/x.py",
        "/etc/x.txt",
        "pkg/tests/test_x.py",
        "pkg/data.bin",
        "pkg-1.dist-info/RECORD",
    ],
    ids=["outside", "absolute", "tests", "binary", "record"],
)
def test_what_is_no_text_of_a_package_is_not_read(path: str) -> None:
    assert not is_source(Path(path))


def test_citations_of_a_model_are_held_against_the_passages() -> None:
    text = "It waits [1, 3].\n\nThen it stops.\n\nFor ever [9]."
    assert check_citations(text, 3) == {"cited": [1, 3], "unknown": [9], "uncited": 1}
