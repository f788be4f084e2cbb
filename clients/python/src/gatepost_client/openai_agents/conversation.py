"""Sessions and traces of the SDK, kept with the thread."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..current import current, required, settle
from ..record.steps import alone, finish
from ..record.values import recordable
from ..record.work import Work
from .recorded import plain

tracing: Any = import_module("agents.tracing")
set_trace_processors = tracing.set_trace_processors
Json = dict[str, Any]
NAME = "session"


class Session:
    """The conversation of several runs in one thread, as the SDK's `Session` protocol wants it.

    Each change is a step of the thread: a process that continues builds the same conversation.
    """

    session_settings: Any = None

    def __init__(self) -> None:
        self.session_id = required("Session()").work.thread
        self._items: list[Any] = []

    def replay(self, work: Work) -> None:
        """Make the conversation of the changes before a run state that is restored."""
        self._items = []
        for n in range(1, work.counts[NAME] + 1):
            self._change(work.answer(NAME if n == 1 else f"{NAME} {n}"))

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the newest ones."""
        return list(self._items if limit is None else self._items[-limit:] if limit else [])

    async def add_items(self, items: list[Any]) -> None:
        """Add items."""
        if items:
            await self._record({"add": plain(items)})

    async def pop_item(self) -> Any:
        """Remove the newest item and give it; None where there is none."""
        if not self._items:
            return None
        newest = self._items[-1]
        await self._record({"pop": 1})
        return newest

    async def clear_session(self) -> None:
        """Remove all items."""
        await self._record({"clear": True})

    async def _record(self, change: Json) -> None:
        scope = required("A session")
        work, key = scope.work, scope.work.name_call(NAME)
        if work.is_recorded(key):
            change = work.answer(key)
        elif work.undone:
            work.keep(key, change)
        else:
            recorded = recordable(change, "The session")
            await settle(scope, alone(finish(work, NAME, key, recorded)))
        self._change(change)

    def _change(self, change: Json) -> None:
        if "add" in change:
            self._items += change["add"]
        elif "pop" in change:
            self._items.pop()
        else:
            self._items.clear()


class Trace(tracing.TracingProcessor):
    """Hand-offs and guardrails as thoughts; calls of models and tools are activities already."""

    def on_span_end(self, span: Any) -> None:
        """Note a span that says where the work went."""
        scope, data = current(), span.span_data
        if scope is None or scope.part:
            return
        if data.type == "handoff":
            scope.work.thoughts.append(f"{data.from_agent} hands over to {data.to_agent}.")
        elif data.type == "guardrail" and data.triggered:
            scope.work.thoughts.append(f"The guardrail {data.name} was triggered.")

    def on_trace_start(self, trace: Any) -> None:
        """Nothing: the thread is the trace."""

    def on_trace_end(self, trace: Any) -> None:
        """Nothing."""

    def on_span_start(self, span: Any) -> None:
        """Nothing."""

    def shutdown(self) -> None:
        """Nothing is held."""

    def force_flush(self) -> None:
        """Nothing is held."""
