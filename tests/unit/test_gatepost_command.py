"""The command `gatepost`: which names in the user's own folder it refuses."""

from __future__ import annotations

import importlib.machinery
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gatepost_command import PACKAGES, ROOT, conflicts, refuse_conflicts

EXTENSION = importlib.machinery.EXTENSION_SUFFIXES[0]


@pytest.mark.parametrize("name", PACKAGES)
@pytest.mark.parametrize(
    ("file", "refused"),
    [
        ("{}/__init__.py", "{}"),  # a package
        ("{}.py", "{}.py"),  # a module
        (f"{{}}{EXTENSION}", f"{{}}{EXTENSION}"),  # a compiled one
        ("{}/invoices.py", "{}"),  # ours would hide it
        ("{}/invoices/__init__.py", "{}"),
        ("{}/epoch-3.bin", None),  # data
        ("{}s/__init__.py", None),  # another name
        ("src/{}/__init__.py", None),  # not where Python looks
    ],
)
def test_what_python_would_take_for_ours_is_refused(
    tmp_path: Path, name: str, file: str, refused: str | None
) -> None:
    path = tmp_path / file.format(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert [*conflicts([str(tmp_path), str(tmp_path)])] == (
        [tmp_path / refused.format(name)] if refused else []
    )


def test_gatepost_is_in_nobodys_way_itself(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.symlink_to(ROOT)
    assert [*conflicts([str(ROOT), str(clone), str(tmp_path / "missing")])] == []


def test_a_clone_beside_an_installation_is_called_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever installs the clone and starts in it learns where to start instead."""
    for name in ("gatepost_command.py", "gatepost/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"is a clone of Gatepost.* `make up` here"):
        refuse_conflicts("up")


def test_the_names_are_those_of_the_packages() -> None:
    aside = {"tests", "benchmarks"}
    files = [*ROOT.glob("*/__init__.py"), *ROOT.glob("agents/*/__init__.py")]
    packages = {file.parent.name for file in files} - aside
    assert packages == set(PACKAGES)


START = """
import os, sys
import gatepost_command
from dashboard.operate.embedded import start

def main(_arguments):
    print(sys.dont_write_bytecode, os.environ.get("PYTHONDONTWRITEBYTECODE"))
    return 0

start.main, sys.argv = main, ["gatepost", "up"]
gatepost_command.main()
"""


def test_a_start_keeps_bytecode_whatever_the_shell_says() -> None:
    """Without it each start compiles some 2,000 modules, in each process that it starts."""
    shell = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", START]
    result = subprocess.run(
        command, env=shell, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout == "False None\n"
