"""What a node gets: the ways to do things once, to ask people, and to say what it thinks.

A node works again from its start after a stop inside it. What it asks through the context is
answered from the record where it was done before, so code between the calls must have no side
effects of its own.
"""

from __future__ import annotations

import time
import uuid as uuids
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from checkpoints import deltas
from checkpoints.states import EventKind
from checkpoints.store import NewEvent

from . import models
from .advice import (
    TOLD_BYTES,
    check_activity,
    check_file,
    storable,
)
from .answers import chunks_of, sha_of
from .effects import Effects
from .frozen import plain
from .guard import watched
from .recording import here

PROGRESS_KEEP_SECONDS = 1.0


def current() -> Context:
    """The context of the working activity or effect; LookupError outside of one."""
    context: Context | None = here.get()
    if context is None:
        raise LookupError("There is no working activity here.")
    return context


def progress(done: float, total: float | None = None, text: str = "") -> None:
    """Report progress from inside an activity's function; does nothing outside of one."""
    context: Context | None = here.get()
    if context is not None:
        context.progress(done, total, text)


class Context(Effects):
    """One node's side of one step. Sync; an activity's function may be `async def`."""

    # ---- activities --------------------------------------------------------------------------

    def activity(
        self, call: Callable[..., Any], *args: Any, key: str | None = None, **kwargs: Any
    ) -> Any:
        """Do something once: call it, commit its JSON result, and ever after answer from there.

        Arguments must be JSON. Asked with other arguments at the same place, it is called again
        and both results stay. Errors are recorded and end the step; a retry calls it again.
        """
        check_activity(call)
        name = getattr(call, "__name__", "activity")
        position = self._position(name, key)
        given = {"args": plain(list(args)), **({"kwargs": plain(kwargs)} if kwargs else {})}
        storable(given, f"What {name!r} is called with")

        def carry_out() -> Any:
            # Copies: what the function does to its arguments shall not change what is recorded.
            return call(*deltas.copied(given["args"]), **deltas.copied(given.get("kwargs", {})))

        return self._once(position, "activity", name, given, carry_out)

    def model(
        self,
        *parts: Any,
        model: str = "",
        system: str = "",
        temperature: float | None = None,
        max_tokens: int | None = None,
        key: str | None = None,
    ) -> str:
        """Ask a model once: `parts` are texts and JSON values; the answer is its finished text.

        Without a name or temperature here those of `ctx.config` hold. Name, tokens and cost are
        recorded beside the answer and added to the thread's. What the model raises fails the step.
        """
        position = self._position("model", key)
        request = models.asked(
            tuple(plain(list(parts))),
            self.config,
            model=model,
            system=system,
            temperature=temperature,
            max_tokens=max_tokens,
        )
        given = request.to_json()
        storable(given, "What the model is asked")

        def ask() -> Any:
            return self._run.model(replace(request, parts=tuple(deltas.copied(given["parts"]))))

        answer: str = self._once(position, "model", "model", given, ask, models.used)
        return answer

    # ---- what people see ---------------------------------------------------------------------

    def think(self, text: str, **facts: Any) -> None:
        """Record a thought: why the agent goes on as it does."""
        position = self._position("think")
        ordinal = int(position.key.rpartition("#")[2])
        data = {
            "node": self._node,
            "ordinal": ordinal,
            "branch": position.branch,
            "step": position.step,
            "text": text,
        }
        if facts:
            data["facts"] = plain(facts)
        storable(data, "This thought", at_most=TOLD_BYTES)
        self._run.think(self._node, ordinal, data)

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Show how far the working activity is; pushed at once, kept at most once a second."""
        activity = self._current
        if activity is None:
            return
        said = {"node": self._node, "done": done, "total": total, "text": text}
        storable(said, "This progress", at_most=TOLD_BYTES)
        self._run.heart.check()
        now = time.monotonic()
        keep = now - self._kept_at >= PROGRESS_KEEP_SECONDS or done == total
        if keep:
            self._kept_at = now
        self._run.ledger.progress(self._run.work, activity, said, keep=keep)

    # ---- files -------------------------------------------------------------------------------

    def artifact(
        self, name: str, data: bytes | Path | Iterable[bytes], media_type: str
    ) -> dict[str, Any]:
        """Keep a file outside the state; the reference to put into the state or a result."""
        check_file(name, media_type)
        chunks = watched(chunks_of(data))
        ref = self._run.ledger.artifact(self._run.work, name, media_type, chunks)
        self._run.add_event(
            NewEvent(
                EventKind.ARTIFACT_STORED,
                {
                    "node": self._node,
                    "name": ref["name"],
                    "sha256": ref["$artifact"],
                    "size": ref["size"],
                    "media_type": media_type,
                },
                self._run.work.owner,
            )
        )
        return ref

    def open_artifact(self, ref: Mapping[str, Any]) -> IO[bytes]:
        """The bytes behind a reference, as a binary file."""
        return self._run.ledger.open_artifact(self._run.work, sha_of(ref))

    def artifact_path(self, ref: Mapping[str, Any]) -> Path:
        """Where the file lies on this machine; read only."""
        return self._run.ledger.artifact_path(self._run.work, sha_of(ref))

    @property
    def config(self) -> Mapping[str, Any]:
        """Model, temperature, prompt texts and the like, as the thread or its fork was begun."""
        return self._run.config

    @property
    def thread_id(self) -> uuids.UUID:
        """The id of the thread that this node works for."""
        return self._run.work.thread

    @property
    def thread_title(self) -> str:
        """The title of the thread that this node works for."""
        return self._run.work.title
