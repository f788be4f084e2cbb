"""Parse typed arguments: ids and how they begin, checkpoint numbers, channel values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.files import File
from django.core.files.uploadedfile import UploadedFile

from checkpoints import queries
from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from checkpoints.views import AgentRow, CheckpointRow
from dashboard.errors import Missing
from dashboard.identity.permissions import Actor
from dashboard.kit.pages.uploads import upload

from .console import Usage

_BEGINS = re.compile(r"[0-9a-f][0-9a-f-]{3,35}")


def thread_named(actor: Actor, value: str) -> UUID:
    """A thread of the actor's workspace by its id, how the id begins, or its name."""
    try:
        return UUID(value)
    except ValueError:
        pass
    results: list[UUID] = []
    if _BEGINS.fullmatch(value.lower()):
        results = queries.ids_beginning(value.lower(), workspace=actor.workspace)
    results = results or queries.ids_named(value, workspace=actor.workspace)
    if len(results) != 1:
        many = "More than one thread has the name or an id that begins" if results else None
        raise Missing(
            f"{many} with {value}; give the whole id."
            if many
            else f"No thread's id begins with {value}, and none has that name; "
            "`threads list` shows them."
        )
    return results[0]


def checkpoint_named(thread: UUID, value: str) -> CheckpointRow:
    """A checkpoint of the thread by its number or its id."""
    if value.isascii() and value.isdigit() and len(value) < 10:
        return queries.checkpoint_by_number(thread, int(value))
    try:
        return queries.checkpoint(thread, UUID(value))
    except ValueError:
        raise Missing(f"{value} is neither the number nor the id of a checkpoint.") from None


def pair(option: str, word: str, form: str) -> tuple[str, str]:
    """The two sides of `key=value`."""
    key, equals, value = word.partition("=")
    if not equals or not key:
        raise Usage(option, f"is written {form}, not {word}")
    return key, value


def number_from(low: int, high: int) -> Any:
    """An argument type: a whole number within bounds."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and low <= int(text[:20]) <= high):
            raise argparse.ArgumentTypeError(f"a whole number from {low} to {high}, not {text}")
        return int(text)

    return read


def add_version_argument(parser: argparse.ArgumentParser) -> None:
    """The guard against acting on what one has not seen."""
    parser.add_argument(
        "--version",
        type=number_from(1, 2**62),
        metavar="N",
        help="only if the thread has not moved since",
    )


def values(
    actor: Actor, version: AgentRow, words: Iterable[str], files: Iterable[str]
) -> dict[str, Any]:
    """`channel=value` words as values of an agent's channels; `channel=path` files are uploaded.

    A text channel takes the word as it is, any other reads it as JSON where that is possible.
    """
    results: dict[str, Any] = {}
    for word in words:
        channel, text = pair("--set", word, "channel=value")
        results[channel] = _value(version, channel, text)
    for word in files:
        channel, path = pair("--file", word, "channel=path")
        results[channel] = _uploaded(actor, Path(path))
    return results


def _value(version: AgentRow, channel: str, text: str) -> Any:
    part = version.schema.get("properties", {}).get(channel, {})
    if part.get("type") == "string":
        return text
    try:
        return deltas.decode_request(text.encode())
    except InvalidValue:
        return text


def _uploaded(actor: Actor, path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            return upload(actor, UploadedFile(File(file), path.name, size=size))
    except OSError as error:
        raise Usage("--file", f"{path}: {error.strerror}") from error


def json_given(text: str, option: str) -> Any:
    """JSON from an option; `@path` reads a file."""
    try:
        raw = Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        return deltas.decode_request(raw)
    except OSError as error:
        raise Usage(option, f"{text[1:]}: {error.strerror}") from error
    except InvalidValue as error:
        raise Usage(option, f"{error.path}: {error.reason}") from error
