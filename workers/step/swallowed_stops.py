"""Stops that an author's code has caught: the node may neither continue nor end as if it was done.

A stop leaves a node as a BaseException. A bare `except:`, `except BaseException` or a `return` in
`finally` catches it all the same; the state would then say that something was decided, done or
waited for, and no trace of the opposite would be left.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from ..authoring.errors import HandBack, StepFailed, Stop
from .outages import Unrecorded


@dataclass(slots=True)
class RaisedStops:
    """The first stop of each node of one step, and the method of ctx that raised it.

    Nodes in `collecting` may continue: an adapter holds their stops and raises them at the end.
    """

    first: dict[str, tuple[Stop, str]] = field(default_factory=dict)
    collecting: set[str] = field(default_factory=set)

    def note(self, node: str, stop: Stop, method: str) -> None:
        """Keep the first stop of a node, with the outermost method that it left."""
        former, _ = self.first.get(node, (stop, method))
        if former is stop:
            self.first[node] = stop, method

    def check_call(self, node: str) -> None:
        """Refuse another call of ctx after a stop."""
        if self.first and node not in self.collecting:
            self.check_end(node)

    def check_end(self, node: str) -> None:
        """Refuse a node's end, or its next call, after a stop.

        Raises the stop again where the worker or the database was the reason: that is no choice
        of the author's, and the node is worked again elsewhere. Else StepFailed.
        """
        if node not in self.first:
            return
        stop, method = self.first[node]
        if isinstance(stop, HandBack | Unrecorded):
            raise stop
        raise StepFailed(
            f"ctx.{method} stopped the node, and the node caught that and continued: a bare "
            "`except:`, `except BaseException` or a `return` in `finally` does so. Catch "
            "`Exception`, or raise again what is not an Exception."
        )


def notes_stops[C: type[Any]](context: C) -> C:
    """Let every public method of a context note the stop that it raises, and refuse after one."""
    for name, method in inspect.getmembers(context, inspect.isfunction):
        if not name.startswith("_"):
            setattr(context, name, _noting(name, method))
    return context


def _noting(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        stops, node = self._step.stops, self._node
        stops.check_call(node)
        try:
            return method(self, *args, **kwargs)
        except Stop as stop:
            stops.note(node, stop, name)
            raise

    return call


def collect_stops(context: Any) -> None:
    """Let a node continue after stops: its adapter holds them and raises them at the end."""
    context._step.stops.collecting.add(context._node)  # noqa: SLF001 - not for authors
