"""docs/howto/commands.md names each command, verb and exit code, and nothing that is not there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dashboard.kit.terminal import console as terminal
from tests.unit.dashboard.command_list import COMMANDS, command_named

ROOT = Path(__file__).resolve().parents[5]
TEXT = (ROOT / "docs/howto/commands.md").read_text()
EXAMPLES = re.findall(r"^(?:\S+: )?\./manage\.py (.+?)(?:\s+[#|>&\\].*)?$", TEXT, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_and_verb_is_explained(name: str) -> None:
    assert re.search(rf"^## .*\b{name}\b", TEXT, re.MULTILINE)
    assert f"./manage.py {name}" in TEXT
    for verb in getattr(command_named(name), "verbs", ()):
        assert f"./manage.py {name} {verb.name}" in TEXT, f"{name} {verb.name}"


def test_each_example_is_understood() -> None:
    """By the command's own parser; what it names need not be there."""
    assert len(EXAMPLES) > 40
    for example in EXAMPLES:
        name, *words = shlex.split(example)
        assert name in COMMANDS, example
        made = command_named(name)
        if name == "token" and words[0] not in {verb.name for verb in made.verbs}:
            words = ["create", *words]
        if "--help" not in words:
            made.create_parser("manage.py", name).parse_args(words)


def test_each_example_of_help_is_understood() -> None:
    for name in COMMANDS:
        made = command_named(name)
        texts = [getattr(made, "examples", ""), *(v.examples for v in getattr(made, "verbs", ()))]
        for line in filter(None, (line.strip() for text in texts for line in text.splitlines())):
            first, *words = shlex.split(line.partition(" | ")[0].partition(" > ")[0])
            assert first == name, line
            if name == "token" and words and words[0] not in {v.name for v in made.verbs}:
                words = ["create", *words]
            if "--help" not in words:
                made.create_parser("manage.py", name).parse_args(words)


def test_each_exit_code_is_explained() -> None:
    codes = {terminal.DONE, terminal.REFUSED, terminal.USAGE, terminal.MISSING, terminal.AWAY}
    names = {int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)}
    assert names == codes | {terminal.STOPPED, 141}
