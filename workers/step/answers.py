"""What a node is answered with, and the small steps on the way there."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from approvals.queries import ApprovalRow
from checkpoints.errors import GatepostError
from checkpoints.records import Position
from checkpoints.views import ActivityRow

from ..authoring.errors import StepFailed
from .event_loops import in_own_thread, loop_is_running
from .secret_values import masked

CHUNK_BYTES = 1 << 20
TEXT_MAX = 10_000
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an effect: its result, and who approved it with which comment.

    `args` are those that were carried out: a reviewer may have edited them.
    """

    result: Any
    comment: str = ""
    decided_by: str = ""
    args: Any = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to a question."""

    value: Any
    comment: str
    by: str


def outcome_of(result: Any, approval: ApprovalRow | None, args: Any = None) -> Outcome:
    """The outcome of a call, with the comment and name of the person who decided it."""
    if approval is None:
        return Outcome(result, args=args)
    return Outcome(result, approval.comment, approval.decided_by_name, args)


def sha_of(ref: Mapping[str, Any]) -> str:
    """The SHA-256 that a reference to an artifact names; StepFailed for anything else."""
    sha = ref.get("$artifact") if isinstance(ref, Mapping) else None
    if not isinstance(sha, str) or not _SHA256.fullmatch(sha):
        raise StepFailed(
            "This isn't a reference to an artifact: pass what ctx.artifact(...) returned, "
            'a dict with "$artifact".'
        )
    return sha


def chunks_of(data: bytes | Path | Iterable[bytes]) -> Iterable[bytes]:
    """The pieces of a file's data; StepFailed for what is no data."""
    if isinstance(data, bytes):
        return [data]
    if isinstance(data, Path):
        return _file_chunks(data)
    if isinstance(data, str) or not isinstance(data, Iterable):
        raise StepFailed(
            f"A file's data must be bytes, a Path or an iterable of bytes, not "
            f"{type(data).__name__}."
        )
    return _checked_chunks(data)


def _checked_chunks(chunks: Iterable[Any]) -> Iterator[bytes]:
    for chunk in chunks:
        if not isinstance(chunk, bytes):
            raise StepFailed(f"A file's data must come in bytes, not {type(chunk).__name__}.")
        yield chunk


def _file_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def result_of(call: Callable[[], Any]) -> Any:
    """Call an author's function and return its result; a coroutine runs in a loop of its own."""
    result = call()
    if not inspect.iscoroutine(result):
        return result

    def run() -> Any:
        # A plain loop whatever is the process's own: one in C would speak past the guard.
        return asyncio.run(result, loop_factory=asyncio.SelectorEventLoop)

    return in_own_thread(run) if loop_is_running() else run()


def was_known(usage: Mapping[str, Any]) -> bool:
    """Answer True if a result came without a call: then the time it took is no news."""
    return not usage.keys().isdisjoint(("reused_from", "from_cache"))


def bounded_text(text: str) -> str:
    """A text of somebody's code as it can be kept: what cannot is an escape, the end is cut off."""
    text = text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"


def is_sentence(error: Exception) -> bool:
    """Answer True if an error's message is a sentence for people by itself."""
    return isinstance(error, GatepostError) or bool(getattr(error, "plain", False))


def describe(error: Exception) -> str:
    """An error as people read it: its message, with the type where the message says little.

    What looks like a credential is masked.
    """
    try:
        text = bounded_text(masked(str(error).strip(), ()))
    except Exception:  # an author's own class whose message cannot be made
        text = ""
    if is_sentence(error):
        return text or type(error).__name__
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def answered(rows: Iterable[ActivityRow]) -> dict[Position, ActivityRow]:
    """The newest revision per position."""
    results: dict[Position, ActivityRow] = {}
    for row in rows:
        results[Position(row.branch, row.step, row.node, row.index, row.key)] = row
    return results
