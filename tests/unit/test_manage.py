"""`./manage.py` right after `make up`, in a terminal that knows of no environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def system() -> str:
    """A Python that has none of our packages."""
    result = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    assert sys.prefix != sys.base_prefix, "the tests stand in an environment"
    return str(result)


def output_of(python: str, manage: Path, *words: str) -> tuple[int, str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
    done = subprocess.run(
        [python, str(manage), *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=manage.parent.parent,
        env=environment,
    )
    return done.returncode, done.stdout + done.stderr


def test_it_finds_the_environment_beside_it(system: str, tmp_path: Path) -> None:
    folder = tmp_path / "gatepost"
    folder.mkdir()
    manage = Path(shutil.copy(ROOT / "manage.py", folder))
    shutil.copy(ROOT / "gatepost_command.py", folder)
    for room in (
        "gatepost",
        "agents",
        "dashboard",
        "workers",
        "approvals",
        "checkpoints",
    ):
        (folder / room).symlink_to(ROOT / room)
    (folder / "templates").symlink_to(ROOT / "templates")
    assert output_of(system, manage, "help") == (
        1,
        "Django is not installed here: run `make up` once.\n",
    )
    (folder / ".venv").symlink_to(sys.prefix)
    code, text = output_of(system, manage, "help")
    assert code == 0, text
    assert "Available subcommands" in text


def test_what_it_is_run_with_is_there_on_every_system() -> None:
    assert (ROOT / "manage.py").read_text().startswith("#!/usr/bin/env python3\n")
