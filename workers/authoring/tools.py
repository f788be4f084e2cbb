"""What an author says of an effect: the tool that makes it, and the gate before it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from approvals.states import DEFAULT_RISK, Risk

from .retry_policy import Retry


@dataclass(frozen=True, slots=True)
class Gate:
    """Stop for people before an effect. `expires_in` in seconds; None waits for ever.

    `answer(question, args)` answers what a reviewer asks back, as an activity; without it they
    read that this agent answers no questions.
    """

    title: str
    description: str = ""
    risk: Risk = DEFAULT_RISK
    expires_in: float | None = None
    reasons: tuple[str, ...] = ()
    answer: Callable[[str, Any], Any] | None = None


@dataclass(frozen=True)
class Tool:
    """A function that changes the outside world, and what undoes it.

    `elsewhere`: anyone who reports calls it, with any arguments; `call` is never called.
    """

    name: str
    call: Callable[..., Any]
    undo: Callable[..., Any] | None = None
    idempotent: bool = False
    once: bool = False
    retry: Retry | None = None
    describe: Callable[[Any, Any], str] | None = None
    elsewhere: bool = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the function; inspected at each effect."""
        return inspect.signature(self.call)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, from the function's signature; `key` is the engine's."""
        hints = get_type_hints(self.call, include_extras=True)
        properties, required = {}, []
        for name, parameter in self.signature.parameters.items():
            if name == "key" or parameter.kind in (
                inspect.Parameter.VAR_POSITIONAL,
                inspect.Parameter.VAR_KEYWORD,
            ):
                continue
            properties[name] = TypeAdapter(hints.get(name, Any)).json_schema()
            if parameter.default is inspect.Parameter.empty:
                required.append(name)
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": any(
                parameter.kind is inspect.Parameter.VAR_KEYWORD
                for parameter in self.signature.parameters.values()
            ),
        }

    def describe_tool(self) -> dict[str, Any]:
        """The tool in the form of AgentVersion.tools."""
        return {
            "schema": self.schema,
            "effect": True,
            "idempotent": self.idempotent,
            "once": self.once,
            "undo": self.undo.__name__ if self.undo else "",
            "description": (self.call.__doc__ or "").strip(),
        }


def tool(
    name: str,
    *,
    undo: Callable[..., Any] | None = None,
    idempotent: bool = False,
    once: bool = False,
    retry: Retry | None = None,
    describe: Callable[[Any, Any], str] | None = None,
) -> Callable[[Callable[..., Any]], Tool]:
    """Declare an effect. It is called with its arguments and `key=`, the idempotency key.

    `undo(args, result, *, key)` takes it back; it may be called again after a crash with the same
    key, so taking back what is gone must be fine. `idempotent` says the same of the tool itself.

    `describe(args, result)` is the sentence that people read about one call, such as "Pay 24
    suppliers 222,532.88 EUR"; `result` is None before the call. It only computes: it is called in
    the worker, as often as needed, and where it fails the tool's name stands instead.
    """

    def declare(call: Callable[..., Any]) -> Tool:
        return Tool(name, call, undo, idempotent, once, retry, describe)

    return declare
