"""`gatepost help` lists our commands, each with a sentence; an unknown one ends with code 2."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dashboard.kit.terminal.overview import Commands
from tests.faults.embedded.helpers import ROOT, clean_environment
from tests.unit.dashboard.command_list import COMMANDS


def test_help_lists_ours_with_a_sentence_each() -> None:
    lines = [
        line for line in Commands(["gatepost"]).main_help_text().splitlines() if line[:1] == " "
    ]
    listed = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}
    assert listed.keys() == COMMANDS.keys()
    assert [name for name, text in listed.items() if not text.endswith(".")] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "advice"), [("thread", "Did you mean 'threads'?"), ("qqq", "`manage.py help` lists")]
)
def test_an_unknown_command_is_wrong_use(word: str, advice: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), word],
        env=clean_environment() | {"GATEPOST_SECRET_KEY": "unused"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"There is no command {word!r}." in done.stderr
    assert advice in done.stderr
