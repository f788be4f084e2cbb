"""What a script declares: its effects, their gates, and how arguments get names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..wire.errors import NotConfigured

# Channels of the state that this package writes; everything else is the agent's input.
RESERVED = frozenset({"steps", "step_inputs", "refusals", "messages", "result"})

# The nodes of a script that are no step or tool: where it begins, and its calls of models.
WORK, MODEL = "work", "model"


@dataclass(frozen=True)
class Approve:
    """The gate before an effect. Title and description may name arguments: "Pay {amount}".

    `risk` is low, medium or high; `expires_in` in seconds, None waits for ever.
    """

    title: str = ""
    description: str = ""
    risk: str = "medium"
    expires_in: float | None = None

    def gate(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """The gate of one call, as the API takes it."""
        gate: dict[str, Any] = {
            "title": _filled(self.title, args) or f"{name}?",
            "risk": self.risk,
        }
        if self.description:
            gate["description"] = _filled(self.description, args)
        if self.expires_in is not None:
            gate["expires_in"] = self.expires_in
        return gate


def _filled(text: str, args: Mapping[str, Any]) -> str:
    try:
        return text.format(**args)
    except (LookupError, ValueError, AttributeError, TypeError):
        return text  # its braces are meant as braces


@dataclass(frozen=True)
class Effect:
    """A function that changes the outside world, and what undoes it."""

    name: str
    function: Callable[..., Any]
    approve: Approve | None = None
    idempotent: bool = False
    undo: Callable[..., Any] | None = None

    def describe(self) -> dict[str, Any]:
        """The effect as the agent announces it."""
        undo = getattr(self.undo, "__name__", "") if self.undo else ""
        return {"idempotent": self.idempotent, "undo": undo}


# Every effect that this process has declared, by name.
EFFECTS: dict[str, Effect] = {}


# The names of the steps that this process has declared: their calls are activities.
STEPS: set[str] = set()


# Answers the tools of a framework's agents, by name, as they are announced.
ANNOUNCED: list[Callable[[], dict[str, dict[str, Any]]]] = []


def describe_tools() -> dict[str, dict[str, Any]]:
    """All tools that this process may call, as it announces them."""
    tools: dict[str, dict[str, Any]] = {name: {"effect": False} for name in sorted(STEPS)}
    tools |= {effect.name: effect.describe() for effect in EFFECTS.values()}
    for announced in ANNOUNCED:
        tools |= announced()
    return tools


def declare_effect(effect: Effect) -> None:
    """Note an effect; raises NotConfigured where its name belongs to another function."""
    known = EFFECTS.get(effect.name)
    if known is not None and _origin(known.function) != _origin(effect.function):
        raise NotConfigured(f"There are two effects named {effect.name!r}; name one of them.")
    EFFECTS[effect.name] = effect


def _origin(function: Callable[..., Any]) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def names_of(function: Callable[..., Any]) -> list[str]:
    """The arguments of a function by name; raises NotConfigured where one has none."""
    parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise NotConfigured(
                f"{function.__qualname__}: {parameter} has no name of its own; "
                "recorded arguments are named."
            )
    return [parameter.name for parameter in parameters]


def named(function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, defaults included; an effect's `key` is left out."""
    bound = inspect.signature(function).bind_partial(*args, **kwargs)
    bound.apply_defaults()
    bound.arguments.pop("key", None)
    missing = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty and name not in bound.arguments and name != "key"
    ]
    if missing:
        raise TypeError(f"{function.__qualname__}() misses {', '.join(missing)}")
    return dict(bound.arguments)
