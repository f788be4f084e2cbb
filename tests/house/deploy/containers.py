"""docker-compose.yml and Dockerfile as data, for the tests that hold them against the code."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
VARIABLE = re.compile(r"\$\{(\w+)(?::?[-?]([^}]*))?\}")


def compose() -> dict[str, Any]:
    """The parsed file, anchors merged, variables as they are written."""
    result: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return result


def filled(value: Any, values: dict[str, str]) -> Any:
    """A value with its `${NAME:-default}` replaced as compose does."""
    if isinstance(value, str):
        return VARIABLE.sub(lambda m: values.get(m[1]) or m[2] or "", value)
    if isinstance(value, list):
        return [filled(item, values) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, values) for key, item in value.items()}
    return value


@dataclass(frozen=True)
class Instruction:
    """One line of a Dockerfile, its continuation lines joined; `stage` counts from 0."""

    stage: int
    word: str
    rest: str


def dockerfile() -> list[Instruction]:
    """The instructions in order."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    results, stage = [], -1
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if not line.strip():
            continue
        word, _, rest = line.strip().partition(" ")
        stage += word == "FROM"
        results.append(Instruction(stage, word, rest.strip()))
    return results


def image_command() -> list[str]:
    """What a container does that is told nothing else."""
    (result,) = [i for i in dockerfile() if i.word == "CMD"]
    command: list[str] = json.loads(result.rest)
    return command
