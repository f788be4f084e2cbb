"""The lead and its children in one process, over the packages that are really installed."""

from __future__ import annotations

import csv
import hashlib
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from gatepost_agents.dependency_audit.agent import graph
from gatepost_agents.dependency_audit.package import graph as package
from tests.unit.agents.dependency_audit.made_up import install
from workers.authoring.language_models import Reply, Request
from workers.testing.harness import Harness, Played

LOCK = "celery==5.7.0\nredis==0.0.1\nteapot==1.0\nopen-ended\nkettle==1.0\ncups==1.0\n"


@pytest.fixture(autouse=True)
def published(tmp_path: Path, settings: Any) -> Path:
    settings.GATEPOST_PUBLISHED = tmp_path / "published"
    return tmp_path / "published"


def play(text: str = LOCK, model: Any = None, **more: Any) -> Played:
    """The lead on an uploaded lock file."""
    values = more.pop("values", {})
    harness = Harness(graph, agents=[package], **more)
    raw = text.encode()
    sha = hashlib.sha256(raw).hexdigest()
    harness.plays.files[sha] = ("requirements.txt", "text/plain", raw)
    file = {"$artifact": sha, "name": "requirements.txt", "media_type": "text/plain"}
    return harness.play({"file": {**file, "size": len(raw)}, **values}, model=model)


def names(rows: Any, key: str = "name") -> list[str]:
    return [row[key] for row in rows]


@pytest.mark.nightly
def test_every_package_of_this_environment_is_audited_by_a_child_of_its_own(
    published: Path,
) -> None:
    thread = Harness(graph, agents=[package]).play()
    assert thread.status == "waiting", thread
    there = {
        re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower(): d.version
        for d in metadata.distributions()
    }
    rows = {re.sub(r"[-_.]+", "-", r["name"]).lower(): r["version"] for r in thread.state["rows"]}
    assert rows == there
    assert len(thread.children) == len(there) > 50
    assert all(child.status == "succeeded" for child in thread.children)
    table = thread.file(thread.state["report"]["table"]).decode().splitlines()
    assert len(table) - 1 == len(there)
    hashed = {row["name"]: row["files"] for row in thread.state["rows"]}
    record = [path for path in metadata.files("celery") or () if path.hash]
    assert hashed["celery"] == len(record)


def test_a_lock_file_is_audited_and_what_is_not_installed_is_said(published: Path) -> None:
    thread = play(values={"ignore": ["Cups"]})
    assert thread.status == "waiting", thread
    assert names(thread.state["rows"]) == ["celery", "kettle", "open-ended", "redis", "teapot"]
    assert thread.title == "5 packages of requirements.txt"
    installed = {row["name"]: row["installed"] for row in thread.state["rows"]}
    assert installed == {
        "celery": True, "kettle": False, "open-ended": False, "redis": False, "teapot": False,
    }  # fmt: skip
    (finding,) = [f for f in thread.state["findings"] if f["level"] == "medium"]
    assert (finding["package"], finding["what"]) == ("open-ended", "No version is pinned")
    text = thread.file(thread.state["report"]["markdown"]).decode()
    assert "4 packages are not installed on the worker in this version" in text
    assert "No model was asked" in text


@pytest.mark.requirement("B36")
def test_children_that_fail_are_listed_and_the_others_count(published: Path) -> None:
    bad = {"celery", "redis", "cups"}

    def inspect(name: str, version: str, today: str) -> dict[str, Any]:
        if name in bad:
            raise ValueError(f"{name} cannot be read")
        return {"facts": {"installed": False, "version": ""}}

    thread = play(tools={"inspect_package": inspect})
    assert thread.status == "waiting", thread
    assert names(thread.state["rows"]) == ["kettle", "open-ended", "teapot"]
    assert {f["package"]: f["reason"] for f in thread.state["failures"]}.keys() == bad
    for failure in thread.state["failures"]:
        assert f"{failure['package']} cannot be read" in failure["reason"]
    text = thread.file(thread.state["report"]["markdown"]).decode()
    assert text.count(" cannot be read") == 3
    assert "## Could not be audited" in text


def test_it_asks_before_it_publishes_and_a_rollback_takes_it_back(published: Path) -> None:
    thread = play()
    (request,) = thread.open
    assert (request.tool, request.undo) == ("report.publish", "unpublish_report")
    assert not published.exists()
    thread.decide("approve")
    assert thread.status == "succeeded", thread
    (folder,) = published.glob("*/*")
    with (folder / "packages.csv").open(newline="") as file:
        assert names(csv.DictReader(file)) == names(thread.state["rows"])
    thread.roll_back(to=1)
    assert list(published.glob("*/*")) == []


def test_a_model_says_what_to_look_at_first(published: Path) -> None:
    requests: list[Request] = []

    def model(request: Request) -> Reply:
        requests.append(request)
        return Reply("Pin open-ended.\n\n# Now", "m-1", 3, 3)

    thread = play(model=model)
    (request,) = requests
    assert request.parts[0]["findings"] == thread.state["findings"]
    text = thread.file(thread.state["report"]["markdown"]).decode()
    assert "## What to look at first\n\nPin open-ended." in text
    assert "\n# Now" not in text
    assert "No model was asked" not in text


def test_a_file_without_packages_fails_with_a_cure_and_ignoring_all_ends(published: Path) -> None:
    thread = play("# nothing\n")
    assert thread.status == "failed"
    assert "names no package" in thread.reason
    thread = play("celery==5.7.0\n", values={"ignore": ["celery"]})
    assert (thread.status, thread.state["outcome"]) == (
        "succeeded",
        "There is no package to audit.",
    )


def test_names_of_strangers_are_no_formulas_and_no_markup(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    licence = '=HYPERLINK("https://example.org") | <img src=x>'
    install(tmp_path, "teapot", f"License: {licence}\nAuthor: A\nHome-page: x\n", {"t.py": ""})
    thread = play("teapot==1.0\n")
    assert thread.status == "waiting", thread
    table = thread.file(thread.state["report"]["table"]).decode()
    assert "'=HYPERLINK" in table
    html = thread.file(thread.state["report"]["html"]).decode()
    assert "<img" not in html


@pytest.mark.nightly
@pytest.mark.parametrize("n", [2, 5, 9, 14, 20, 27])
def test_a_lost_worker_audits_no_package_twice(published: Path, n: int) -> None:
    thread = play(stop_after=n)
    assert thread.status == "waiting", thread
    assert names(thread.state["rows"]) == names(play().state["rows"])
    assert len(thread.children) == 6
    for child in thread.children:
        assert [a.attempts for a in child.activities if a.tool == "inspect_package"] == [1]
