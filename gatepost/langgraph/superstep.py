"""One superstep of a LangGraph graph as one step of a thread.

LangGraph runs tasks in threads of its own. Only the node's thread may use the context of the
Gatepost thread, so it makes all calls of the context (records, effects, tokens to show) for them,
one after the other.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from typing import Any, Final

from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot

from gatepost import Context, Expired, Rejected, StepFailed
from workers.authoring.errors import GateReached
from workers.step import token_stream
from workers.step.guard import unguarded
from workers.step.swallowed_stops import collect_stops

from .channels import ABOUT, Channels
from .interrupts import answer
from .saver import StepSaver
from .tools import (
    RecordedTool,
    call_key,
    called,
    current_superstep,
    effect_call,
    model_args,
    packed,
    text_message,
    unpacked,
    with_decision,
)

JOURNAL: Final = "langgraph"
START: Final = "__start__"


class Superstep:
    """Runs one superstep; tasks and calls that finished in an earlier attempt are not repeated."""

    def __init__(
        self,
        compiled: CompiledStateGraph[Any, Any, Any, Any],
        channels: Channels,
        ctx: Context,
        options: Mapping[str, Any],
    ) -> None:
        self._channels = channels
        self._ctx = ctx
        self._options = options
        self._saver = StepSaver(channels.serde, self._append_to_journal)
        no_stops = {"interrupt_before_nodes": (), "interrupt_after_nodes": ()}
        self._graph = compiled.copy({"checkpointer": self._saver, **no_stops})
        self._from = ""  # the id of the checkpoint at which the superstep begins
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._results: dict[str, list[Any]] = {}  # by the key of the call
        self._used: dict[str, int] = {}  # how many of them this round has returned
        self._gates: dict[str, GateReached] = {}  # of effects, by the key of the call
        self._stop: BaseException | None = None

    def run(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the update of the state; raises a Stop where the thread has to wait."""
        collect_stops(self._ctx)
        # The guard of Gatepost's nodes would refuse what LangGraph does beside its own nodes.
        with unguarded():
            return self._superstep(values)

    def _superstep(self, values: dict[str, Any]) -> dict[str, Any]:
        about = values[ABOUT]
        limit = self._options["recursion_limit"]
        steps = about.get("steps", -2)
        if steps >= limit:
            raise StepFailed(f"The graph has not ended after {limit} steps, its recursion limit.")
        config: RunnableConfig = {
            **self._options["config"],
            "recursion_limit": limit - max(steps, 0),
        }
        config["configurable"] = {
            **config.get("configurable", {}),
            "thread_id": str(self._ctx.thread_id),
        }
        start: Any = None
        if about:
            checkpoint = self._channels.checkpoint(self._ctx.thread_id, values)
            self._from = checkpoint["id"]
            self._options["breakpoints"].check(self._ctx, about, self._from)
            self._saver.begin(checkpoint, steps)
        else:
            start = self._channels.input(values)
        journal = self._ctx.recorded(JOURNAL, {"from": self._from})
        self._saver.load(journal)
        snapshot = self._rounds(start, config, has_journal=bool(journal))
        if self._saver.result is None:
            raise StepFailed("LangGraph ended the superstep without a checkpoint.")
        following = list(dict.fromkeys(snapshot.next))
        left = self._options["breakpoints"].passed(about.get("next", []))
        return self._channels.update(
            values, self._saver.result, next=following, steps=max(steps, -1) + 1, **left
        )

    def _rounds(self, start: Any, config: RunnableConfig, *, has_journal: bool) -> StateSnapshot:
        """Run tasks and resume them with answers, until the superstep ends or people are needed."""
        resumed: set[str] = set()
        waiting: dict[str, GateReached] = {}
        snapshot = self._graph.get_state(config) if has_journal else None
        is_first = True
        while True:
            answers: dict[str, Any] = {}
            for interrupt in () if snapshot is None else snapshot.interrupts:
                if interrupt.id in resumed or interrupt.id in waiting:
                    continue
                value = self._channels.serde.encode(interrupt.value)
                try:
                    answers[interrupt.id] = answer(self._ctx, interrupt, value)
                except GateReached as stop:
                    waiting[interrupt.id] = stop
            stops = [*waiting.values(), *self._gates.values()]
            if stops and not answers and not (is_first and _has_open_tasks(snapshot)):
                raise GateReached.merged(stops)
            if not is_first and not answers:
                raise StepFailed("LangGraph left the superstep without an end or a question.")
            resumed |= answers.keys()
            self._run_round(Command(resume=answers) if answers else start, config)
            snapshot = self._graph.get_state(config)
            if self._saver.result is not None:
                return snapshot
            is_first = False

    # ---- in the node's thread --------------------------------------------------------------------

    def _run_round(self, input: Any, config: RunnableConfig) -> None:
        """Let LangGraph run in a thread, and make the calls that it asks for, until it ends."""
        self._used.clear()
        errors: list[BaseException] = []

        def run() -> None:
            current_superstep.set(self)
            try:
                with token_stream.shown(self._show):
                    self._stream(input, config)
            except BaseException as error:
                errors.append(error)
            finally:
                self._queue.put(None)

        threading.Thread(target=run, name="gatepost-langgraph", daemon=True).start()
        while (call := self._queue.get()) is not None:
            call()
        if self._stop is not None:
            raise self._stop
        if errors:
            raise errors[0]

    # ---- in the threads of LangGraph -------------------------------------------------------------

    def _stream(self, input: Any, config: RunnableConfig) -> None:
        """Run the superstep; the text of a model is shown while it grows."""
        options: dict[str, Any] = {
            "context": self._options["context"],
            "stream_mode": ["messages"],
            "interrupt_after": list(self._graph.nodes),
            "durability": "sync",
            "subgraphs": True,
        }
        shown = _Shown()
        if self._options["in_loop"]:

            async def run() -> None:
                async for _, _, (chunk, _) in self._graph.astream(input, config, **options):
                    shown.add(chunk)

            asyncio.run(run())
            return
        for _, _, (chunk, _) in self._graph.stream(input, config, **options):
            shown.add(chunk)

    def once(self, name: str, args: Any, key: str, call: Callable[[], Any]) -> Any:
        """Return the recorded result of a call, else make the call and record its result."""
        with self._lock:
            if key not in self._results:
                recorded = partial(self._ctx.recorded, name, args, key=key)
                self._results[key] = self._in_node_thread(recorded)
            results, number = self._results[key], self._used.get(key, 0)
            self._used[key] = number + 1
        if number < len(results):
            return results[number]
        result = call()
        self._in_node_thread(partial(self._ctx.record, name, args, result, key=key))
        with self._lock:
            results.append(result)
        return result

    def is_held(self, name: str, args: Any, key: str) -> bool:
        """Say whether a policy asks about a call that the author does not call an effect."""
        with self._lock:
            if self._results.get(key):
                return False
            if key in self._gates:
                return True
        return bool(self._in_node_thread(partial(self._ctx.is_held, name, args, key=key)))

    def memory(self, key: str, call: Callable[[Context, str], Any]) -> Any:
        """Return the result that a call of the memory had before in this task, else make the call.

        The context records it. A call that a policy holds leaves its task as one that waits.
        """
        with self._lock:
            if key in self._gates:
                raise GraphInterrupt(())
            results, number = self._results.setdefault(key, []), self._used.get(key, 0)
            self._used[key] = number + 1
            if number < len(results):
                return results[number]

        def perform() -> bool:
            try:
                results.append(call(self._ctx, key))
            except GateReached as stop:
                self._gates[key] = stop
                return False
            return True

        if not self._in_node_thread(perform, raises=True):
            raise GraphInterrupt(())
        return results[-1]

    def effect(self, tool: RecordedTool, call: Mapping[str, Any], config: Any) -> Any:
        """Carry out an effect behind its gate and policies; the task waits where people decide."""
        key, args = call_key(tool.name, call), model_args(tool.inner, call["args"])
        with self._lock:
            if key in self._gates:
                raise GraphInterrupt(())
            if key in self._results:
                return unpacked(tool.serde, self._results[key][0])
        context = copy_context()
        # A call of the context from inside the tool would wait for the node's thread, which waits
        # for the tool.
        context.run(current_superstep.set, None)

        def carry_out(decided: dict[str, Any], idempotency_key: str) -> Any:
            configurable = {**(config or {}).get("configurable", {})}
            configurable["idempotency_key"] = idempotency_key
            own = {**(config or {}), "configurable": configurable}
            injected = {name: v for name, v in call["args"].items() if name not in args}
            values = {**call, "args": {**injected, **decided}}
            try:
                return packed(tool.serde, context.run(called, tool.inner, values, own))
            except GraphInterrupt as error:
                raise StepFailed(
                    f"The effect {tool.name!r} calls interrupt(): give it a gate instead."
                ) from error

        def perform() -> Any:
            token = effect_call.set(carry_out)
            try:
                outcome = self._ctx.effect(tool.effect, args, gate=tool.gate, key=key)
            except Rejected as refusal:
                why = refusal.comment or "no reason"
                text = f"Rejected by {refusal.by}, not carried out: {why}"
                return packed(tool.serde, text_message(call, text, is_error=True))
            except Expired:
                text = "Not carried out: nobody decided in time."
                return packed(tool.serde, text_message(call, text, is_error=True))
            except GateReached as stop:
                self._gates[key] = stop
                return None
            finally:
                effect_call.reset(token)
            return with_decision(tool.serde, outcome, args)

        result = self._in_node_thread(perform, raises=True)
        if result is None:
            raise GraphInterrupt(())
        with self._lock:
            self._results[key] = [result]
        return unpacked(tool.serde, result)

    def _append_to_journal(self, entry: dict[str, Any]) -> None:
        self._in_node_thread(partial(self._ctx.record, JOURNAL, {"from": self._from}, entry))

    def _show(self, text: str) -> None:
        self._queue.put(partial(self._ctx.stream, text))

    def _in_node_thread(self, call: Callable[[], Any], *, raises: bool = False) -> Any:
        """Return the result of a call that the node's thread makes.

        With `raises`, an Exception of the call is the caller's to handle. Any other error ends the
        step: from then on each task is left as one that waits.
        """
        future: Future[Any] = Future()

        def make() -> None:
            if self._stop is not None:
                future.set_exception(GraphInterrupt(()))
                return
            try:
                future.set_result(call())
            except BaseException as error:
                # Lost leases, outages and stops are no Exception: they end the step.
                if raises and isinstance(error, Exception):
                    future.set_exception(error)
                    return
                self._stop = error
                future.set_exception(GraphInterrupt(()))

        self._queue.put(make)
        return future.result()


class _Shown:
    """Shows the text of a model while it grows."""

    def __init__(self) -> None:
        self._ident: str | None = None
        self._stream = token_stream.TokenStream()

    def add(self, chunk: Any) -> None:
        """Add a chunk; one of another message begins a new text."""
        if not isinstance(chunk, AIMessageChunk):
            return
        if chunk.id != self._ident:
            self._ident, self._stream = chunk.id, token_stream.TokenStream()
        self._stream.grow(str(chunk.text))


def _has_open_tasks(snapshot: StateSnapshot | None) -> bool:
    """Return whether some tasks have neither finished nor wait for people."""
    if snapshot is None:
        return True
    return any(task.result is None and not task.interrupts for task in snapshot.tasks)
