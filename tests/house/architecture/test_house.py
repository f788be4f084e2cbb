"""The tree: names, sizes, packages in use, what may not stand in it."""

from __future__ import annotations

import re

import pytest

from tools.size import ROOT

from .sources import files, name, product, tracked

TOP = (
    "manage.py",
    "pyproject.toml",
    "dashboard",
    "checkpoints",
    "approvals",
    "workers",
    "templates",
    "tests",
    "docker-compose.yml",
)
IGNORES_ALLOWED = 25


@pytest.mark.requirement("D09")
def test_the_nine_top_level_names_exist() -> None:
    assert [name for name in TOP if not (ROOT / name).exists()] == []


def test_type_checks_are_rarely_silenced() -> None:
    n = sum(len(re.findall(r"#\s*type:\s*ignore", p.read_text())) for p in product())
    assert n <= IGNORES_ALLOWED


def test_package_files_hold_no_logic() -> None:
    logic = re.compile(r"^(def|class|if|for|with) ", re.MULTILINE)
    packages = [path for path in product() if path.name == "__init__.py"]
    # What authors import: it imports its heavy names when they are asked for (PEP 562).
    with_logic = ["gatepost/__init__.py"]
    assert [name(path) for path in packages if logic.search(path.read_text())] == with_logic


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent for path in files(".py", ("tests",))}
    assert [str(f) for f in sorted(folders) if not (f / "__init__.py").exists()] == []


def test_no_pickle_and_no_vendored_files() -> None:
    pickle = re.compile(r"^\s*(import|from) (pickle|marshal|shelve)\b", re.MULTILINE)
    assert [name(path) for path in product() if pickle.search(path.read_text())] == []
    vendored = (".min.js", ".min.css")
    assert [name(path) for path in tracked() if path.name.endswith(vendored)] == []


def test_no_secret_host_or_path_of_a_machine_is_in_the_repository() -> None:
    # Put together here, so that this file does not contain what it looks for.
    refused = re.compile(
        "|".join(("/" + "work/main", "/root/" + r"\.", "files\\." + "pythonhosted"))
    )
    results = []
    for path in tracked():
        if path.suffix in {".png", ".ico", ".gz", ".zip"}:
            continue
        if refused.search(path.read_text(errors="ignore")):
            results.append(str(path.relative_to(ROOT)))
    assert results == []
