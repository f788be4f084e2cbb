"""Right readings of the shapes by the product and by other libraries, as a table."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tools import environments

from .readers import is_right, ours
from .recorded_shapes import Shape

HERE = Path(__file__).resolve().parent
LOCK = HERE / "requirements.lock"
LIBRARIES = ("SDKs", "litellm", "pydantic-ai")


def peer_readings(interpreter: Path, library: str) -> dict[str, dict[str, Any]]:
    """The reading of each shape by a library; RuntimeError where it cannot be asked."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        done = subprocess.run(
            [str(interpreter), str(HERE / "peers.py"), library, file.name],
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason theirs"])[-1]
            raise RuntimeError(f"{library}: {last}")
        readings: dict[str, dict[str, Any]] = json.load(file)
    return readings


def matches_right_reading(reading: dict[str, Any], shape: Shape) -> bool:
    """True if text and calls are the right ones, or an error is one: what each library can say."""
    right = shape.reading
    if "error" in right or "error" in reading:
        return "error" in right and "error" in reading
    calls = [(name, _value(arguments)) for _, name, arguments in right.get("calls", ())]
    theirs = [(name, _value(arguments)) for name, arguments in reading["calls"]]
    return reading["text"] == right["text"] and theirs == calls


def _value(arguments: Any) -> Any:
    try:
        return json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


def our_reading(shape: Shape) -> dict[str, Any]:
    """Our reading in the form of the other libraries."""
    result = ours(shape)
    if "error" in result:
        return result
    calls = [[name, arguments] for _, name, arguments in result.get("calls", ())]
    return {"text": result["text"], "calls": calls}


def count(shapes: list[Shape], readings: dict[str, dict[str, Any]]) -> tuple[int, int]:
    """(answers read right, errors noticed)."""
    right = [shape for shape in shapes if matches_right_reading(readings[shape.name], shape)]
    errors = sum("error" in shape.reading for shape in right)
    return len(right) - errors, errors


def interpreter() -> Path:
    """The environment of the libraries; RuntimeError if it can't be installed."""
    return environments.python("wires", LOCK)


def all_right(shapes: list[Shape]) -> list[str]:
    """The names of shapes whose whole reading (tokens, reasoning, retry) is not ours."""
    return [shape.name for shape in shapes if not is_right(ours(shape), shape)]
