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

from checkpoints.records import Position
from checkpoints.state import deltas
from checkpoints.states import EventKind
from checkpoints.store import NewEvent

from ..authoring import language_models
from ..authoring.checks import check_text, is_number, shown
from ..authoring.errors import HandBack, StepFailed
from ..authoring.frozen import plain
from ..authoring.retry_policy import Retry, policy_of
from ..step.advice import TOLD_BYTES, check_activity, check_file, storable
from ..step.answers import chunks_of, sha_of
from ..step.guard import watched
from .cursors import check_told
from .effects import Effects
from .records import here
from .reuse import Sparing, Used

PROGRESS_KEEP_SECONDS = 1.0


def current() -> Context:
    """The context of the working activity or effect; LookupError outside of one."""
    context: Context | None = here.get()
    if context is None:
        raise LookupError("There is no working activity here.")
    return context


def progress(
    done: float | None = None,
    total: float | None = None,
    text: str = "",
    *,
    cursor: Any = None,
    every: int | None = None,
) -> None:
    """Report progress from inside an activity's function; does nothing outside of one.

    `cursor` and `every` as in `Context.progress`.
    """
    context: Context | None = here.get()
    if context is not None:
        context.progress(done, total, text, cursor=cursor, every=every)


def cursor() -> Any:
    """Where a former call of the working activity stopped; None at the first, and outside."""
    context: Context | None = here.get()
    return None if context is None else context.cursor


class Context(Effects):
    """One node's side of one step. Sync; an activity's function may be `async def`."""

    # ---- activities --------------------------------------------------------------------------

    def activity(
        self,
        call: Callable[..., Any],
        *args: Any,
        key: str | None = None,
        retry: Retry | None = None,
        cached: float | None = None,
        **kwargs: Any,
    ) -> Any:
        """Do something once: call it, commit its JSON result, and ever after answer from there.

        Arguments must be JSON. Asked with other arguments at the same place, it is called again
        and both results stay. Errors are recorded; the thread sleeps and calls again as `retry`
        says, else they end the step, and a person's retry calls it again.

        With `cached` other threads of the workspace that ask the same of the same code within so
        many seconds get this result without a call.
        """
        check_activity(call)
        name = getattr(call, "__name__", "activity")
        position = self._position(name, key)
        given = {"args": plain(list(args)), **({"kwargs": plain(kwargs)} if kwargs else {})}
        storable(given, f"What {name!r} is called with")

        def carry_out() -> Any:
            # Copies: what the function does to its arguments shall not change what is recorded.
            return call(*deltas.copied(given["args"]), **deltas.copied(given.get("kwargs", {})))

        policy = policy_of(retry, self._run.retry)
        return self._spared(
            position, "activity", name, given, carry_out, call, cached, retry=policy
        )

    def model(
        self,
        *parts: Any,
        model: str = "",
        system: str = "",
        temperature: float | None = None,
        max_tokens: int | None = None,
        key: str | None = None,
        retry: Retry | None = None,
        cached: float | None = None,
    ) -> str:
        """Ask a model once: `parts` are texts and JSON values; the answer is its finished text.

        Without a name or temperature here those of `ctx.config` hold. Name, tokens and cost are
        recorded beside the answer and added to the thread's. What the model raises is tried again
        as `retry` says, else it fails the step.
        `cached` as for an activity.
        """
        position = self._position("model", key)
        request = language_models.asked(
            tuple(plain(list(parts))),
            self.config,
            model=model,
            system=system,
            temperature=temperature,
            max_tokens=max_tokens,
        )
        given = request.to_json()
        storable(given, "What the model is asked")

        asking = self._run.model

        def ask() -> Any:
            return asking(replace(request, parts=tuple(deltas.copied(given["parts"]))))

        who = asking if cached is None else language_models.answering(asking)
        answer: str = self._spared(
            position,
            "model",
            "model",
            given,
            ask,
            who,
            cached,
            language_models.used,
            retry=policy_of(retry, self._run.retry),
        )
        return answer

    def _spared(
        self,
        position: Position,
        kind: str,
        name: str,
        given: Any,
        call: Callable[[], Any],
        function: Callable[..., Any],
        cached: float | None,
        uses: Used | None = None,
        *,
        retry: Retry,
    ) -> Any:
        """As `_once`; what is known from elsewhere is recorded without a call."""
        self._looked_at = set()
        sparing = Sparing(
            self._run,
            position,
            kind,
            name,
            given,
            call,
            function,
            cached=cached,
            uses=uses,
            looked_at=self._looked_at,
        )
        return self._once(position, kind, name, given, sparing, sparing.used, retry)

    # ---- what people see ---------------------------------------------------------------------

    def think(self, text: str, **facts: Any) -> None:
        """Record a thought: why the agent goes on as it does."""
        check_text(text, "A thought")
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

    def progress(
        self,
        done: float | None = None,
        total: float | None = None,
        text: str = "",
        *,
        cursor: Any = None,
        every: int | None = None,
    ) -> None:
        """Show how far the working activity is; pushed at once, kept at most once a second.

        `cursor` is JSON of up to 1 MiB: where it stands, its results so far, references to files
        it wrote. It is kept once a second, after `every` so many calls, when the activity fails
        and when the worker stops, which it does here. Called again with the same arguments, the
        function finds it as `cursor()`.
        """
        activity, run = self._current, self._run
        if activity is None:
            return
        check_text(text, "A progress's text")
        for what, number in (("done", done), ("total", total)):
            if number is not None and not is_number(number):
                raise StepFailed(f"{what} of a progress must be a number, not {shown(number)}.")
        said = {"node": self._node, "done": done, "total": total, "text": text}
        storable(said, "This progress", at_most=TOLD_BYTES)
        visible = None if done is None else said
        run.heart.check()
        stops, kept = False, False
        if cursor is not None:
            check_told(activity.kind, every)
            ends = done is not None and done == total
            stops = run.stopping() and not ends
            if self._told.tell(cursor, every) or stops or ends:
                kept = self._keep_cursor(activity, visible)
        if visible is not None:
            now = time.monotonic()
            keep = now - self._kept_at >= PROGRESS_KEEP_SECONDS or done == total
            if keep or kept:
                self._kept_at = now
            run.ledger.progress(run.work, activity, visible, keep=keep and not kept)
        if stops:
            raise HandBack

    @property
    def cursor(self) -> Any:
        """Where a former call of the working activity stopped; None at the first."""
        return None if self._current is None else self._told.cursor

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
        self._look_at("config")
        return self._run.config

    def _look_at(self, what: str) -> None:
        """Note what the working activity has looked at: its result belongs to that."""
        if self._current is not None:
            self._looked_at.add(what)

    @property
    def thread_id(self) -> uuids.UUID:
        """The id of the thread that this node works for."""
        self._look_at("thread")
        return self._run.work.thread

    @property
    def thread_title(self) -> str:
        """The title of the thread that this node works for."""
        self._look_at("thread")
        return self._run.work.title
