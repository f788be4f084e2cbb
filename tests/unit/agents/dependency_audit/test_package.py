"""What the audit of one package finds, in packages made up for it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gatepost_agents.dependency_audit.age import age_of
from gatepost_agents.dependency_audit.licences import kind_of, licence_of
from gatepost_agents.dependency_audit.package import graph
from tests.unit.agents.dependency_audit.made_up import install
from workers.testing.harness import Harness

CLEAN = (
    "Summary: Brews tea\nLicense-Expression: MIT\nAuthor: Ada\n"
    "Project-URL: Source, https://example.org/\n"
    "Classifier: Programming Language :: Python :: 3.15\n"
)


def findings(name: str, **values: Any) -> dict[str, dict[str, str]]:
    """{what: finding} of the child's whole course."""
    thread = Harness(graph).play({"name": name, "version": "1.0", **values})
    assert thread.status == "succeeded", thread
    assert len(thread.thoughts) == max(1, len(thread.state["findings"]))
    levels = ["high", "medium", "low"]
    ranks = [levels.index(one["level"]) for one in thread.state["findings"]]
    assert ranks == sorted(ranks), "the worst first"
    return {one["what"]: one for one in thread.state["findings"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_nothing_speaks_against_a_clean_package(folder: Path) -> None:
    install(folder, "teapot", CLEAN, {"teapot/__init__.py": "x = 1\n"})
    assert findings("teapot") == {}


def test_a_description_may_quote_a_token(folder: Path) -> None:
    token = f"eyJ{'a' * 20}.eyJ{'b' * 20}.{'c' * 30}"
    install(folder, "teapot", f"{CLEAN}\nEncoded: {token}\n", {"teapot/__init__.py": "x = 1\n"})
    assert findings("teapot") == {}


@pytest.mark.parametrize(
    ("metadata", "values", "what", "level"),
    [
        (CLEAN.replace("MIT", "AGPL-3.0-only"), {}, "Has a licence that you refuse", "high"),
        (CLEAN.replace("MIT", "LicenseRef-Odd"), {}, "Has a licence that is not known here", "low"),
        (CLEAN.replace("License-Expression: MIT\n", ""), {}, "Names no licence", "medium"),
        (CLEAN.replace("Brews tea", "DEPRECATED: use kettle"), {}, "May not be maintained",
         "medium"),
        (CLEAN.replace("3.15", "3.7"), {}, "May be old", "low"),
        (CLEAN + "Classifier: Development Status :: 7 - Inactive\n", {}, "Is inactive", "medium"),
        (CLEAN.replace("Author: Ada\n", ""), {}, "Names nobody", "low"),
        (CLEAN.replace("Project-URL: Source, https://example.org/\n", ""), {},
         "Says nothing of where it comes from", "low"),
        (CLEAN, {"pinned": False}, "No version is pinned", "medium"),
        (CLEAN, {"source": "git+https://example.org/x"}, "Does not come from the index", "medium"),
    ],
    ids=lambda value: value.split("\n")[0].replace(" ", "-") if isinstance(value, str) else "",
)  # fmt: skip
def test_each_warning_of_the_metadata_is_found_alone(
    folder: Path, metadata: str, values: dict[str, Any], what: str, level: str
) -> None:
    install(folder, "teapot", metadata, {"teapot/__init__.py": "x = 1\n"})
    results = findings("teapot", **values)
    assert {one: result["level"] for one, result in results.items()} == {what: level}


def test_altered_and_missing_files_and_code_at_start_are_found(folder: Path) -> None:
    files = {
        "teapot/a.py": "a = 1\n",
        "teapot/b.py": "b = 1\n",
        "teapot.pth": "import os; os.environ\n",
    }
    install(folder, "teapot", CLEAN, files)
    (folder / "teapot/a.py").write_text("a = 2\n")
    (folder / "teapot/b.py").unlink()
    results = findings("teapot")
    assert results["Was altered after it was installed"]["why"] == "teapot/a.py"
    assert results["Lacks files that it was installed with"]["why"] == "teapot/b.py"
    startup = results["Runs code at each start of Python"]
    assert (startup["level"], startup["why"]) == ("high", "teapot.pth: import os; os.environ")


@pytest.mark.parametrize("name", ["requsts", "numpyy", "python-dateutils"])
def test_a_name_like_a_much_used_one_is_found(folder: Path, name: str) -> None:
    install(folder, name, CLEAN, {f"{name}.py": ""})
    assert findings(name)["May be taken for another package"]["level"] == "high"


@pytest.mark.parametrize("name", ["psycopg2", "requests-oauthlib", "pytest-django", "attrs"])
def test_an_honest_name_is_not(folder: Path, name: str) -> None:
    install(folder, name, CLEAN, {f"{name}.py": ""})
    assert findings(name) == {}


def test_of_what_is_not_installed_only_name_and_version_are_judged() -> None:
    results = findings("no-such-package", version="2.0rc1")
    assert set(results) == {"Is a pre-release", "Only name and version were looked at"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("MIT", "permissive"),
        ("MIT OR GPL-3.0-only", "permissive"),
        ("MIT AND GPL-3.0-only", "copyleft"),
        ("LGPL-3.0-only", "weak copyleft"),
        ("GNU Lesser General Public License v3", "weak copyleft"),
        ("GNU General Public License v2 or later (GPLv2+)", "copyleft"),
        ("GNU Affero General Public License v3", "network copyleft"),
        ("Mozilla Public License 2.0 (MPL 2.0)", "weak copyleft"),
        ("Permission is hereby granted, free of charge, to any person", "permissive"),
        ("All rights reserved", "unknown"),
    ],
)
def test_licences_have_a_kind(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_the_expression_counts_before_classifiers_and_these_before_the_text() -> None:
    licence = {"expression": "MIT", "text": "GPL", "classifiers": ["BSD License"]}
    assert licence_of(licence)["name"] == "MIT"
    assert licence_of(licence | {"expression": ""})["name"] == "BSD License"
    assert licence_of({"expression": "", "text": "GPL", "classifiers": []})["kind"] == "copyleft"


@pytest.mark.parametrize(
    ("version", "text", "pythons", "since"),
    [
        ("1.0", "", [], ""),
        ("2026.3.1", "", [], "2026-03-01"),
        ("6.0.12.20260131", "", [], "2026-01-31"),
        ("1.0", "## 1.0 (2021-05-04)\nby 2099-01-01", ["3.8"], "2021-05-04"),
        ("1.0", "Copyright (c) 2008-2019 Ada", ["3.7"], "2019-01-01"),
        ("1.0", "Copyright 2008 Ada", ["3.7", "3.9"], "2020-10-05"),
        ("18.6", "", ["3.12"], "2023-10-02"),
    ],
    ids=["none", "calendar", "stamp", "changes", "span", "python", "no-calendar"],
)
def test_age_goes_by_the_newest_sign(
    version: str, text: str, pythons: list[str], since: str
) -> None:
    age = age_of(version, text=text, pythons=pythons, today=date(2026, 11, 23))
    assert age["since"] == since
    assert (age["years"] is None) == (not since)
