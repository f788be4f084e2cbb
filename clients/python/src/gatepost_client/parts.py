"""`@step`, `@effect` and what an agent asks in between, for plain functions and `async def`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast, overload

from .current import await_, current, part, perform, required
from .record.declared import STEPS, Approve, Effect, declare_effect, names_of
from .record.steps import perform_effect, perform_question, perform_step, take_messages

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


@overload
def step(function: F, /) -> F: ...
@overload
def step(*, name: str = "") -> Callable[[F], F]: ...
def step(function: F | None = None, /, *, name: str = "") -> F | Callable[[F], F]:
    """Keep what a function returns: a finished call with the same arguments is not repeated.

    Called inside of another step, or outside of an agent, it is a plain function.
    """

    def declare(function: F) -> F:
        title = name or function.__name__
        names_of(function)
        STEPS.add(title)

        def flow(*args: Any, **kwargs: Any) -> Any:
            scope = current()
            if scope is None or scope.part:
                return None
            return scope, perform_step(
                scope.work, title, part(scope, title, function), args, kwargs
            )

        return _either(function, flow)

    return declare if function is None else declare(function)


# Whose argument `key` is given by us, so that callers leave it out: no type can say that yet.
@overload
def effect(function: Callable[..., R], /) -> Callable[..., R]: ...
@overload
def effect(
    *,
    approve: bool | str | Approve = False,
    name: str = "",
    idempotent: bool = False,
    undo: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., R]], Callable[..., R]]: ...
def effect(
    function: Callable[..., R] | None = None,
    /,
    *,
    approve: bool | str | Approve = False,
    name: str = "",
    idempotent: bool = False,
    undo: Callable[..., Any] | None = None,
) -> Callable[..., R] | Callable[[Callable[..., R]], Callable[..., R]]:
    """Make a function an effect: done once, on record before and after, behind its gate.

    `approve` asks people first: True, a title such as "Pay {amount}", or an Approve. A function
    with an argument `key` gets the idempotency key. `idempotent` says that calling it twice
    with one key acts once; else a crash in the middle asks a person what happened.
    `undo(args, result, *, key)` takes it back in a rollback.
    """

    def declare(function: Callable[..., R]) -> Callable[..., R]:
        title = name or function.__name__
        names_of(function)
        gate: Approve | None = None
        if isinstance(approve, Approve):
            gate = approve
        elif approve:
            gate = Approve(approve if isinstance(approve, str) else "")
        declared = Effect(title, function, gate, idempotent, undo)
        declare_effect(declared)

        def flow(*args: Any, **kwargs: Any) -> Any:
            scope = required(f"The effect {title!r}")
            called = Effect(title, part(scope, title, function), gate, idempotent, undo)
            return scope, perform_effect(scope.work, called, args, kwargs)

        return _either(function, flow)

    return declare if function is None else declare(function)


def _either(function: F, flow: Callable[..., Any]) -> F:
    """The function as its callers see it; `flow` is None where nothing is recorded."""
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            prepared = flow(*args, **kwargs)
            return await (function(*args, **kwargs) if prepared is None else await_(*prepared))

        return cast("F", awaited)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        prepared = flow(*args, **kwargs)
        return function(*args, **kwargs) if prepared is None else perform(*prepared)

    return cast("F", called)


def question_of(
    question: str, schema: Any, description: str, risk: str, expires_in: float | None
) -> dict[str, Any]:
    """A question as the API takes it."""
    payload = {"question": question, "schema": schema, "description": description, "risk": risk}
    payload["expires_in"] = expires_in
    return {name: value for name, value in payload.items() if value not in (None, "")}


def ask(
    question: str,
    *,
    schema: Any = None,
    description: str = "",
    risk: str = "",
    expires_in: float | None = None,
) -> Any:
    """Ask people and wait for their answer: text, or what fits a JSON Schema.

    Raises Rejected or Expired when they refuse or say nothing in `expires_in` seconds.
    """
    scope = required("ask()")
    payload = question_of(question, schema, description, risk, expires_in)
    return perform(scope, perform_question(scope.work, payload))


def messages(wait: float = 0) -> list[Any]:
    """Take what people have sent since the last call; wait this number of seconds for the first."""
    scope = required("messages()")
    return perform(scope, take_messages(scope.work, wait))


def think(text: str) -> None:
    """Say why; it joins the record with the next step."""
    required("think()").work.thoughts.append(text)
