"""A question is answered in words by a model where there is one; its figures are checked."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from gatepost_agents.language.numbers import unknown_numbers
from gatepost_agents.market_research.agent import graph
from workers.authoring.language_models import Reply, Request
from workers.testing.harness import Harness, Played

QUESTION = "Which shop is dear?"


@pytest.fixture(autouse=True)
def published(tmp_path: Path, settings: Any) -> None:
    settings.GATEPOST_PUBLISHED = tmp_path


def play(model: Any = None, question: str = QUESTION) -> Played:
    """The agent on a table of 90 rows."""
    lines = [f"{'ABC'[n % 3]},{10 * (n % 3) + n % 7}" for n in range(90)]
    raw = "\n".join(["shop,price", *lines]).encode()
    harness = Harness(graph)
    sha = hashlib.sha256(raw).hexdigest()
    harness.plays.files[sha] = ("shops.csv", "text/csv", raw)
    file = {"$artifact": sha, "name": "shops.csv", "media_type": "text/csv", "size": len(raw)}
    return harness.play({"question": question, "measure": "price", "file": file}, model=model)


def markdown(thread: Played) -> str:
    return thread.file(thread.state["report"]["markdown"]).decode()


@pytest.mark.slow
def test_a_model_answers_from_the_figures_and_strange_ones_are_named() -> None:
    requests: list[Request] = []

    def model(request: Request) -> Reply:
        requests.append(request)
        return Reply("Shop C is dear, by 4711.5 on the mean of 90 rows.\n\n# Not a heading", "m-1")

    thread = play(model)
    assert thread.status == "waiting", thread
    (request,) = requests
    assert request.parts[0] == QUESTION
    assert request.parts[1]["analysis"]["findings"]
    text = markdown(thread)
    assert text.index("## Answer") < text.index("## Findings")
    assert "by 4711.5 on the mean of 90" in text
    assert "not among them: 4711.5." in text.replace("\\", "")
    assert "\n# Not a heading" not in text
    assert thread.state["report"]["answer"].startswith("Shop C is dear")


def test_a_thread_without_a_question_is_named_by_its_table() -> None:
    assert play(question="").title == "90 rows of shops.csv"
    assert play().title == "market-research", "its question is its title where people start it"


def test_without_a_model_there_is_no_answer_and_the_report_is_as_before() -> None:
    thread = play()
    assert thread.status == "waiting", thread
    assert "## Answer" not in markdown(thread)
    assert set(thread.state["report"]) == {"title", "figures", "markdown", "html"}
    drafts = [a for a in thread.activities if a.tool == "draft_report"]
    assert [set(a.args) for a in drafts] == [{"args"}], "recorded as it always was"


@pytest.mark.parametrize(
    ("answer", "unknown"),
    [
        ("It is 1,200 or 1200.0, never 1201.", ["1201"]),
        ("Three of 10 shops.", []),
        ("12.50 is 12.5", []),
    ],
    ids=["commas", "small", "zeros"],
)
def test_numbers_are_compared_by_value(answer: str, unknown: list[str]) -> None:
    assert unknown_numbers(answer, "1200 rows at 12\\.5 each") == unknown
