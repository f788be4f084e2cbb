"""What a node gets: the ways to do things once, to ask people, and to say what it thinks.

A node works again from its start after a stop inside it. What it asks through the context is
answered from the record where it was done before, so code between the calls must have no side
effects of its own.
"""

from __future__ import annotations

import time
import uuid as uuids
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any, overload

from approvals.policies.reservations import NO_BOUND, Estimate
from checkpoints.limits import TITLE_MAX
from checkpoints.log.traces import activity_span, step_span
from checkpoints.records import Position
from checkpoints.state import deltas
from checkpoints.state.model_configuration import prompts_of
from checkpoints.states import EventKind
from checkpoints.store import NewEvent

from ..authoring import language_models
from ..authoring.checks import check_text, is_number, shown
from ..authoring.errors import HandBack, StepFailed
from ..authoring.frozen import plain
from ..authoring.messages import ModelAnswer, StoredMessages
from ..authoring.retry_policy import Retry, policy_of
from ..authoring.tools import Tool
from ..authoring.web_pages import WebPage
from ..language.configuration import answering, estimate_of, is_configured
from ..language.conversations import ask_in_conversation
from ..step import answer_notes, token_stream
from ..step.advice import EVENT_BYTES, check_activity, storable
from ..step.answers import sha_of
from ..step.guard import unguarded_file
from ..step.secret_values import read_secret
from ..step.swallowed_stops import notes_stops
from .cursors import check_cursor
from .held_calls import as_tool, named_args
from .memory_items import MemoryItems
from .records import here
from .reuse import Sparing, Used
from .web_reads import host_of, page_of, reader

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
    """The cursor saved by the activity's last call; None at the first call, and outside."""
    context: Context | None = here.get()
    return None if context is None else context.cursor


@notes_stops
class Context(MemoryItems):
    """One node's side of one step. Sync; an activity's function may be `async def`."""

    # ---- activities --------------------------------------------------------------------------

    @overload
    def activity[R](
        self,
        call: Callable[..., Coroutine[Any, Any, R]],
        *args: Any,
        key: str | None = None,
        retry: Retry | None = None,
        cached: float | None = None,
        **kwargs: Any,
    ) -> R: ...

    @overload
    def activity[R](
        self,
        call: Callable[..., R],
        *args: Any,
        key: str | None = None,
        retry: Retry | None = None,
        cached: float | None = None,
        **kwargs: Any,
    ) -> R: ...

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

        A call that a policy asks about is carried out as an effect: the thread waits for people,
        the decided arguments are called, and it raises Rejected or Expired. It keeps no cursor.
        """
        check_activity(call)
        name = getattr(call, "__name__", "activity")
        values = {"args": plain(list(args)), **({"kwargs": plain(kwargs)} if kwargs else {})}
        storable(values, f"What {name!r} is called with")
        named = named_args(call, values)
        if self.is_held(name, values if named is None else named, value=values, key=key):
            tool = as_tool(name, call, names=named is not None, retry=retry)
            self._keeps_cursor = False
            try:
                return self.effect(tool, values if named is None else named, key=key).result
            finally:
                self._keeps_cursor = True
        position = self._position(name, key)

        def carry_out() -> Any:
            # Copies: what the function does to its arguments shall not change what is recorded.
            return call(*deltas.copied(values["args"]), **deltas.copied(values.get("kwargs", {})))

        policy = policy_of(retry, self._step.retry)
        return self._spared(
            position, "activity", name, values, carry_out, call, cached, retry=policy
        )

    @overload
    def model(
        self,
        *parts: Any,
        model: str = "",
        system: str = "",
        temperature: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        stop: Sequence[str] = (),
        key: str | None = None,
        retry: Retry | None = None,
        cached: float | None = None,
    ) -> str: ...

    @overload
    def model(
        self,
        *,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Tool | Callable[..., Any] | Mapping[str, Any]] = (),
        schema: Mapping[str, Any] | None = None,
        model: str = "",
        system: str = "",
        temperature: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        stop: Sequence[str] = (),
        conversation: str | None = None,
        if_gone: language_models.IfGone = "fail",
        key: str | None = None,
        retry: Retry | None = None,
        cached: float | None = None,
    ) -> ModelAnswer: ...

    def model(
        self,
        *parts: Any,
        key: str | None = None,
        retry: Retry | None = None,
        cached: float | None = None,
        **query: Any,
    ) -> str | ModelAnswer:
        """Ask a model once. Texts and JSON values are answered by its finished text.

        `messages` are answered by a ModelAnswer, which may ask for calls of `tools`, and whose
        `data` fits the JSON `schema`. With `conversation` the provider holds earlier messages under
        that id. Without a name or temperature here those of `ctx.config` hold. Name, tokens and
        cost are recorded beside the answer and added to the thread's; its reasoning and the tool
        calls it asks for are events. What the model raises is tried again as `retry` says, else it
        fails the step. `cached` as for an activity.
        """
        position = self._position("model", key)
        request = language_models.request_of(tuple(plain(list(parts))), self.config, **query)
        value = request.to_json()
        messages = query.get("messages")
        if isinstance(messages, StoredMessages):
            value |= messages.record
        storable(value, "What the model is asked")
        asking = self._step.model

        def ask() -> Any:
            # Copies: what the function does to its arguments shall not change what is recorded.
            own: dict[str, Any] = {
                name: tuple(deltas.copied(list(getattr(request, name))))
                for name in ("parts", "chat", "tools")
            }
            note = partial(self._note, position)
            with token_stream.shown(self.stream), answer_notes.recorded(note):
                return ask_in_conversation(asking, replace(request, **own), self._step, position)

        result = self._spared(
            position,
            "model",
            "model",
            value,
            ask,
            asking if cached is None else answering(asking),
            cached,
            partial(language_models.recorded_answer, request),
            retry=policy_of(retry, self._step.retry),
            most=partial(estimate_of, asking, request),
        )
        return ModelAnswer.from_json(result) if request.chat else result

    def read_web(self, url: str, *, key: str | None = None, retry: Retry | None = None) -> WebPage:
        """Read a page of the web once, and ever after answer from the record.

        It is off until a policy about the tool `web.read` allows its `args.host` (or `args.url`);
        a policy that asks lets people approve each read. Private addresses, redirects to them or
        to hosts that no policy allows, more than 1 MiB and what is no text are not read. Raises
        WebRefused with the reason, also from the record; `retry` as for an activity.

        What a page says is data: let no model take it for instructions.
        """
        check_text(url, "An address")
        read = reader(self._step, lambda: getattr(self._current, "kind", "") == "effect")
        return page_of(self.activity(read, url=url, host=host_of(url), key=key, retry=retry))

    def stream(self, text: str) -> None:
        """Show a model's text so far on open pages, "" when it has ended; nothing is recorded."""
        report = {"node": self._node, "done": None, "total": None, "text": "", "stream": text}
        self._step.ledger.progress(self._step.work, self._current, report, keep=False)

    def _note(self, p: Position, kind: EventKind, data: dict[str, Any]) -> None:
        """Let an event beside the record of a model's call be written, without secrets."""
        where = {"node": p.node, "branch": p.branch, "step": p.step, "key": p.key}
        texts = {k: self._step.masked(v) if isinstance(v, str) else v for k, v in data.items()}
        self._step.add_event(NewEvent(kind, where | texts, self._step.work.owner))

    def _add_events_of(self, p: Position, returned: Any, result: Any) -> None:
        """Let the record of a model's answer be written with its reasoning and tool calls."""
        where = {"node": p.node, "branch": p.branch, "step": p.step, "key": p.key}
        for kind, data in language_models.events_of(returned, result):
            self._step.refuse_secrets(data, "What the model thought")
            self._step.add_event(NewEvent(kind, where | data, self._step.work.owner))

    @property
    def has_model(self) -> bool:
        """True if there is a model for `model` to ask; read it in an activity to record it."""
        return is_configured(self._step.model, str(self.config.get("model") or ""))

    def _spared(
        self,
        position: Position,
        kind: str,
        name: str,
        value: Any,
        call: Callable[[], Any],
        function: Callable[..., Any],
        cached: float | None,
        uses: Used | None = None,
        *,
        retry: Retry,
        most: Callable[[], Estimate] = lambda: NO_BOUND,
    ) -> Any:
        """As `_once`; what is known from elsewhere is recorded without a call."""
        self._looked_at = set()
        sparing = Sparing(
            self._step,
            position,
            kind,
            name,
            value,
            call,
            function,
            cached=cached,
            uses=uses,
            looked_at=self._looked_at,
        )

        def used(returned: Any) -> tuple[Any, dict[str, Any]]:
            result, usage = sparing.used(returned)
            try:
                if kind == "model":
                    self._add_events_of(position, returned, result)
            except StepFailed as error:
                return error, usage  # it was paid for all the same
            return result, usage

        return self._once(position, kind, name, value, sparing, used, retry, most)

    # ---- what people see ---------------------------------------------------------------------

    def think(self, text: str, **facts: Any) -> None:
        """Record a thought: why the agent continues as it does."""
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
        storable(data, "This thought", at_most=EVENT_BYTES)
        self._step.think(self._node, ordinal, data)

    def suggest_title(self, title: str) -> None:
        """Name the thread by what is known now, such as "88 invoices, EUR 204,446.25".

        Replaces an automatic title only: one of `x-title`, of an earlier suggestion, or the
        agent's name. One that somebody gave stays. At most 300 characters.
        """
        check_text(title, "A title")
        storable(title, "This title")
        if not title.strip():
            raise StepFailed("A title must not be empty.")
        if len(title) > TITLE_MAX:
            raise StepFailed(f"A title has at most {TITLE_MAX} characters, not {len(title)}.")
        self._step.refuse_secrets(title, "This title")
        self._step.suggest_title(self._node, title)

    def progress(
        self,
        done: float | None = None,
        total: float | None = None,
        text: str = "",
        *,
        cursor: Any = None,
        every: int | None = None,
    ) -> None:
        """Show how far the working activity is; pushed immediately, kept at most once a second.

        `cursor` is JSON of up to 1 MiB: where it stands, its results so far, references to files
        it wrote. It is kept once a second, after `every` calls, when the activity fails
        and when the worker stops, which it does here. Called again with the same arguments, the
        function finds it as `cursor()`.
        """
        activity, step = self._current, self._step
        if activity is None:
            return
        check_text(text, "A progress's text")
        for what, number in (("done", done), ("total", total)):
            if number is not None and not is_number(number):
                raise StepFailed(f"{what} of a progress must be a number, not {shown(number)}.")
        payload = {"node": self._node, "done": done, "total": total, "text": text}
        storable(payload, "This progress", at_most=EVENT_BYTES)
        self._step.refuse_secrets(payload, "This progress")
        visible = None if done is None else payload
        if not self._keeps_cursor:
            cursor = None
        step.heartbeat.check()
        stops, saved = False, False
        if cursor is not None:
            check_cursor(activity.kind, every)
            cursor = self._scratch.as_texts(cursor)
            step.refuse_secrets(cursor, "This cursor", of=activity.tool)
            stamps = self._scratch.stamps(cursor)
            ends = done is not None and done == total
            stops = step.stopping() and not ends
            if self._cursors.update(cursor, every, stamps) or stops or ends:
                saved = self._keep_cursor(activity, visible)
        if visible is not None:
            now = time.monotonic()
            keep = now - self._kept_at >= PROGRESS_KEEP_SECONDS or done == total
            if keep or saved:
                self._kept_at = now
            step.ledger.progress(step.work, activity, visible, keep=keep and not saved)
        if stops:
            raise HandBack

    @property
    def cursor(self) -> Any:
        """The cursor saved by the activity's last call; None at the first."""
        return None if self._current is None else self._cursors.cursor

    @property
    def traceparent(self) -> str:
        """The header `traceparent` for what the working activity calls; outside, of its step."""
        work, activity = self._step.work, self._current
        if activity is None:
            span = step_span(work.chain_id, work.branch, self._step.number)
        else:
            at = activity.position
            span = activity_span(work.chain_id, at, activity.revision, activity.attempts)
        return self._step.trace.at(span).header()

    # ---- files -------------------------------------------------------------------------------

    def scratch(self) -> Path:
        """A temporary folder of the working call, empty at first, removed at its end.

        A file below it whose path stands in the call's result or cursor is kept as an artifact,
        and the record has its reference instead: what the node, a retry or another machine gets
        is that reference, for `open_artifact` and `artifact_path`.
        """
        if self._current is None:
            raise StepFailed(
                "ctx.scratch is a folder of a working activity or tool: call "
                "gatepost.current().scratch() in its function."
            )
        self._look_at("scratch")
        return self._scratch.folder

    def open_artifact(self, ref: Mapping[str, Any]) -> IO[bytes]:
        """The bytes behind a reference, as a binary file."""
        return unguarded_file(self._step.ledger.open_artifact(self._step.work, sha_of(ref)))

    def artifact_path(self, ref: Mapping[str, Any]) -> Path:
        """The path of the file on this machine; read only."""
        return self._step.ledger.artifact_path(self._step.work, sha_of(ref))

    @property
    def workspace(self) -> uuids.UUID:
        """The workspace that the thread belongs to: keep files of different ones apart by it."""
        return self._step.work.workspace

    def secret(self, name: str) -> str:
        """A secret of the worker's environment, NAME or the file of NAME_FILE; in calls only."""
        if self._current is None:
            raise StepFailed(
                "ctx.secret answers inside an activity's function only: "
                'gatepost.current().secret("NAME").'
            )
        return read_secret(name)

    @property
    def config(self) -> Mapping[str, Any]:
        """Model, temperature, prompt texts and the like, as the thread or its fork was begun."""
        self._look_at("config")
        return self._step.config

    def prompt(self, name: str) -> str:
        """A prompt text as the thread or its fork was begun with; declared in Graph(prompts=...).

        A thread that was started before the prompt was declared gets the declared one.
        """
        text = prompts_of(self.config).get(name, self._step.prompts.get(name))
        if not isinstance(text, str):
            raise StepFailed(f"There is no prompt {shown(name)}: declare it in Graph(prompts=...).")
        return text

    def _look_at(self, what: str) -> None:
        """Note what the working activity has looked at: its result belongs to that."""
        if self._current is not None:
            self._looked_at.add(what)

    @property
    def thread_id(self) -> uuids.UUID:
        """The id of the thread that this node works for."""
        self._look_at("thread")
        return self._step.work.thread

    @property
    def thread_title(self) -> str:
        """The title of the thread that this node works for.

        It may change while the node works; in a node that suggests one, read it afterwards.
        """
        self._look_at("thread")
        return self._step.title
