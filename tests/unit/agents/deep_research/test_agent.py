"""The whole agent in one process, on the packages that are really installed."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gatepost import Rule, Terms
from gatepost_agents.deep_research.agent import graph
from tests.support.web_site import LOOPBACK, site
from tests.unit.agents.deep_research.citations import check_each
from workers.authoring.language_models import Reply, Request
from workers.testing.harness import Harness, Played

QUESTION = "How does Celery retry a task?"
FEW = {"question": QUESTION, "at_most": 25}


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """The published folder of this test."""
    settings.GATEPOST_PUBLISHED = tmp_path / "published"
    return tmp_path / "published"


def upload(harness: Harness, name: str, raw: bytes) -> dict[str, Any]:
    """A file as the start form stores it."""
    sha = hashlib.sha256(raw).hexdigest()
    harness.plays.files[sha] = (name, "application/octet-stream", raw)
    return {"$artifact": sha, "name": name, "media_type": "text/plain", "size": len(raw)}


def reads(thread: Played) -> list[Any]:
    return [a for a in thread.activities if a.tool == "read_source"]


@pytest.mark.slow
@pytest.mark.requirement("A41")
def test_each_citation_stands_in_its_file_at_its_lines(folder: Path) -> None:
    thread = Harness(graph).play(FEW)
    assert thread.status == "waiting", thread
    assert check_each(thread.state["citations"]) >= 5
    assert check_each(thread.state["notes"]) >= len(thread.state["citations"])
    text = thread.file(thread.state["report"]["markdown"]).decode()
    for citation in thread.state["citations"]:
        assert f"{citation['file']}, line" in text.replace("\\", "")
        assert f"\n{citation['text']}\n" in text
    cited = json.loads(thread.file(thread.state["report"]["citations"]))
    assert cited == thread.state["citations"]
    assert len(reads(thread)) == thread.state["read"] == 25


def test_it_asks_before_it_publishes_and_a_rollback_takes_it_back(folder: Path) -> None:
    thread = Harness(graph).play(FEW)
    (request,) = thread.open
    assert (request.tool, request.undo, request.risk) == (
        "report.publish", "unpublish_report", "medium",
    )  # fmt: skip
    assert not folder.exists()
    thread.decide("approve")
    assert thread.status == "succeeded", thread
    (of_workspace,) = folder.iterdir()
    (report,) = of_workspace.iterdir()
    assert sorted(path.name for path in report.iterdir()) == [
        "citations.json", "manifest.json", "report.html", "report.md",
    ]  # fmt: skip
    thread.roll_back(to=1)
    assert list(of_workspace.iterdir()) == []


def test_without_a_model_nothing_is_worded_by_one(folder: Path) -> None:
    thread = Harness(graph).play(FEW)
    assert thread.state["answer"] == {}
    assert [a for a in thread.activities if a.kind == "model"] == []
    text = thread.file(thread.state["report"]["markdown"]).decode()
    assert "No model was asked" in text
    assert "## Answer" not in text


def test_a_model_answers_from_the_passages_and_its_citations_are_checked(folder: Path) -> None:
    requests: list[Request] = []

    def model(request: Request) -> Reply:
        requests.append(request)
        return Reply("It raises `Retry` [1].\n\n# Not a heading\n\nSee [77].", "m-1", 9, 9)

    thread = Harness(graph).play(FEW, model=model)
    (request,) = requests
    assert request.parts[0] == QUESTION
    shown = request.parts[1]["passages"]
    assert [one["text"] for one in shown] == [c["text"] for c in thread.state["citations"]]
    answer = thread.state["answer"]
    assert (answer["cited"], answer["unknown"], answer["uncited"]) == ([1], [77], 1)
    text = thread.file(thread.state["report"]["markdown"]).decode()
    assert "## Answer\n\nIt raises \\`Retry\\` \\[1\\]." in text
    assert "\n# Not a heading" not in text
    assert "numbers that no passage has: 77" in text
    assert "No model was asked" not in text


def test_a_model_names_the_packages_where_the_question_does_not(folder: Path) -> None:
    answers = ["I would read kombu and nosuchthing.", "From a connection pool [1]."]
    thread = Harness(graph).play(
        {"question": "Where do broker connections come from?", "at_most": 10}, model=answers
    )
    assert [one["name"] for one in thread.state["plan"]["packages"]] == ["kombu"]
    assert thread.state["answer"]["cited"] == [1]


def test_a_text_of_one_s_own_is_cited_by_line(folder: Path) -> None:
    harness = Harness(graph)
    raw = b"\xef\xbb\xbfTea\r\n===\r\n\r\nBoil water.\r\nSteep green tea for two minutes.\r\n"
    file = upload(harness, "tea.md", raw)
    thread = harness.play({"question": "How long does green tea steep?", "file": file})
    assert thread.status == "waiting", thread
    (citation,) = thread.state["citations"]
    assert (citation["package"], citation["file"]) == ("", "tea.md")
    lines = raw.decode("utf-8-sig").split("\r\n")
    assert "\n".join(lines[citation["line"] - 1 : citation["end"]]) == citation["text"]
    assert "two minutes" in citation["text"]


def test_a_zip_is_read_member_by_member_and_what_cannot_be_read_is_named(folder: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a/tea.txt", "Steep green tea.\n")
        archive.writestr("b/latin.txt", "Grüner Tee".encode("latin-1"))
        archive.writestr("c/picture.png", b"\x89PNG")
        archive.writestr("d/large.md", b"green tea steep\n" * 100_000, zipfile.ZIP_DEFLATED)
    harness = Harness(graph)
    file = upload(harness, "notes.zip", packed.getvalue())
    thread = harness.play({"question": "steep green tea", "file": file})
    assert [c["file"] for c in thread.state["citations"]] == ["a/tea.txt"]
    assert thread.state["skipped"] == [
        "b/latin.txt: it is neither UTF-8 nor UTF-16.",
        "d/large.md: it is larger than 1024 KB.",
    ]
    text = thread.file(thread.state["report"]["markdown"]).decode()
    assert all(one in text.replace("\\", "") for one in thread.state["skipped"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"question": "How does it work?"}, "no word to look for"),
        ({"question": "retry", "packages": ["celry"]}, "Did you mean `celery`"),
    ],
    ids=["no-word", "no-package"],
)
def test_what_cannot_be_looked_for_fails_with_a_cure(
    folder: Path, values: dict[str, Any], reason: str
) -> None:
    thread = Harness(graph).play(values)
    assert thread.status == "failed"
    assert reason in thread.reason


@pytest.mark.nightly
@pytest.mark.parametrize("n", [3, 9, 16, 27, 41, 58])
def test_a_lost_worker_costs_no_note_and_reads_no_source_twice(folder: Path, n: int) -> None:
    whole = Harness(graph).play(FEW)
    thread = Harness(graph, stop_after=n).play(FEW)
    assert thread.status == "waiting", thread
    assert thread.state["notes"] == whole.state["notes"]
    counter = Counter(json.dumps(a.args["args"][0]["file"]) for a in reads(thread))
    assert set(counter.values()) == {1}
    assert {a.attempts for a in reads(thread)} == {1}


def let(host: str) -> Any:
    """The policy of a play that lets it read one host."""

    def policy(facts: Any) -> Rule | None:
        is_it = facts.tool == "web.read" and facts.args["host"] == host
        return Rule("allow", "pages@1", "Pages", Terms()) if is_it else None

    return policy


@pytest.mark.requirement("F12")
def test_web_pages_are_read_where_a_policy_lets_it_and_cited(folder: Path, settings: Any) -> None:
    settings.GATEPOST_WEB_NETWORKS = [LOOPBACK]
    with site() as there, site() as other:
        page = there.put("/retry", "<h1>Celery</h1><p>Celery can retry a task: a retry of a task "
                         "of Celery is a new message of the same task.")  # fmt: skip
        unread = other.put("/", "<p>Celery retry task</p>")
        thread = Harness(graph, policy=let(there.host)).play(
            {"question": QUESTION, "at_most": 3, "pages": [page, unread]}
        )
    assert thread.status == "waiting", thread
    assert (there.hits.total(), other.hits.total()) == (1, 0)
    [seen] = thread.state["web"]
    assert (seen["url"], len(seen["sha256"])) == (page, 64)
    cited = [c for c in thread.state["citations"] if c["file"] == page]
    assert cited
    assert "a new message" in cited[0]["text"]
    text = thread.file(thread.state["report"]["markdown"]).decode().replace("\\", "")
    assert "1 web page" in text
    assert "web page, read " in text
    # What was not read says why: in the thoughts, and in the report.
    [why] = thread.state["not_browsed"]
    assert "is off for this agent" in why
    assert why in thread.thoughts
    assert other.host in text


@pytest.mark.requirement("F12")
def test_without_a_policy_it_says_plainly_that_the_web_is_off(folder: Path) -> None:
    thread = Harness(graph).play({**FEW, "at_most": 3, "pages": ["https://docs.example/"]})
    assert thread.status == "waiting", thread
    assert thread.state["web"] == []
    assert "Reading the web is off for this agent" in thread.state["not_browsed"][0]
    text = thread.file(thread.state["report"]["markdown"]).decode()
    assert "Reading the web is off for this agent" in text
