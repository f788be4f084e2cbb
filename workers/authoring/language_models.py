"""How a model is asked: what is sent, what comes back, and who it is sent to.

A model is a function of a `Request` that answers a `Reply`. An agent names its own
(`Graph(..., model=answer)`); otherwise GATEPOST_MODEL names one for all, as "package.module:name".
Where neither is there the call fails and says so: nothing pretends to be a model.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Protocol

from checkpoints.state import deltas

from .checks import check_text, shown
from .errors import StepFailed

SETTING = "GATEPOST_MODEL"
NAME_MAX = 200
TOKENS_MAX = 10**9
COST_BELOW = 10**6
COST_PLACES = 6
NONE_INSTALLED = (
    f"There is no model to ask. Name one: {SETTING}=package.module:function for all agents of a "
    "worker, or Graph(..., model=function) for one. In a test: Harness(graph).play(model=...)."
)


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked; it is recorded as it stands.

    `parts` are texts and other JSON values, in order. `model` is a name that the function knows,
    "" its own choice; `temperature` and `max_tokens` None likewise.
    """

    parts: tuple[Any, ...]
    model: str = ""
    system: str = ""
    temperature: float | None = None
    max_tokens: int | None = None

    @property
    def text(self) -> str:
        """The parts as one text: texts as they are, all else as JSON, an empty line in between."""
        return "\n\n".join(
            part if isinstance(part, str) else deltas.canonical(part).decode()
            for part in self.parts
        )

    @property
    def messages(self) -> list[dict[str, str]]:
        """The same in the form that many services take: roles and contents."""
        asked = {"role": "user", "content": self.text}
        return [{"role": "system", "content": self.system}, asked] if self.system else [asked]

    def to_json(self) -> dict[str, Any]:
        """How it is recorded: what was not asked for is left out."""
        more = {
            "model": self.model or None,
            "system": self.system or None,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        return {
            "parts": list(self.parts),
            **{name: value for name, value in more.items() if value is not None},
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered, and what that took.

    `model` is the exact name of what answered; `cost` in dollars, as text or Decimal with at most
    six places, since a float loses parts of a cent.
    """

    text: str
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: str | Decimal | int = "0"


class Model(Protocol):
    """Whoever answers. May be `async def`; what it raises fails the step, and a retry asks again.

    Called once per position: what it answered is kept, and is the answer from then on.
    """

    def __call__(self, request: Request, /) -> Reply | Awaitable[Reply]: ...


def missing(request: Request, /) -> Reply:
    """Stands where no model is: refuses, and says what to do."""
    raise StepFailed(NONE_INSTALLED)


def configured(request: Request, /) -> Reply | Awaitable[Reply]:
    """The model that the settings name, looked up when it is first asked."""
    from django.conf import settings

    named = str(getattr(settings, SETTING, ""))
    return _found(named)(request) if named else missing(request)


def answering(model: Model) -> Model:
    """Who really answers: the one that the settings name now where they are asked."""
    from django.conf import settings

    named = str(getattr(settings, SETTING, "")) if model is configured else ""
    return _found(named) if named else model


@lru_cache(maxsize=8)
def _found(named: str) -> Model:
    """The function behind "package.module:name"; StepFailed when there is none."""
    module, colon, name = named.partition(":")
    if not colon:
        raise StepFailed(f"{SETTING} is {named!r}: write package.module:function.")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise StepFailed(f"{SETTING} is {named!r}, which cannot be imported: {error}.") from error
    if not callable(found):
        raise StepFailed(f"{SETTING} is {named!r}, which is no function.")
    model: Model = found
    return model


def asked(
    parts: tuple[Any, ...],
    config: Mapping[str, Any],
    *,
    model: str,
    system: str,
    temperature: float | None,
    max_tokens: int | None,
) -> Request:
    """The request of one call; where it names no model or temperature, `config` does."""
    if not parts:
        raise StepFailed('ctx.model takes what to ask: ctx.model("Summarise this", table).')
    name = model or config.get("model") or ""
    warmth = config.get("temperature") if temperature is None else temperature
    if not isinstance(name, str) or len(name) > NAME_MAX:
        raise StepFailed(f"The model's name must be text of up to {NAME_MAX} characters.")
    if warmth is not None and (isinstance(warmth, bool) or not isinstance(warmth, int | float)):
        raise StepFailed(f"The temperature must be a number, not {shown(warmth)}.")
    check_text(system, "The model's system text")
    if max_tokens is not None and (type(max_tokens) is not int or max_tokens < 1):
        raise StepFailed(f"max_tokens must be a whole number from 1, not {shown(max_tokens)}.")
    return Request(parts, name, system, warmth, max_tokens)


def used(reply: Any) -> tuple[str, dict[str, Any]]:
    """(what was answered, what it took) of a reply; StepFailed for what is none."""
    if not isinstance(reply, Reply):
        raise StepFailed(
            f"The model answered with {type(reply).__name__}: return Reply(text, model=..., "
            "tokens_in=..., tokens_out=..., cost=...) of gatepost."
        )
    if not isinstance(reply.text, str):
        raise StepFailed(f"The text of a Reply must be text, not {type(reply.text).__name__}.")
    if not isinstance(reply.model, str) or len(reply.model) > NAME_MAX:
        raise StepFailed(f"The model of a Reply must be text of up to {NAME_MAX} characters.")
    for name, count in (("tokens_in", reply.tokens_in), ("tokens_out", reply.tokens_out)):
        if type(count) is not int or not 0 <= count <= TOKENS_MAX:
            raise StepFailed(
                f"{name} of a Reply must be a whole number from 0, not {shown(count)}."
            )
    return reply.text, {
        "model": reply.model,
        "tokens": reply.tokens_in + reply.tokens_out,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "cost": _cost(reply.cost),
    }


def _cost(given: Any) -> str:
    try:
        cost = None if isinstance(given, bool | float) else Decimal(given)
    except (InvalidOperation, TypeError, ValueError):
        cost = None
    if cost is None or not cost.is_finite() or not 0 <= cost < COST_BELOW:
        raise StepFailed(
            f"The cost of a Reply must be an amount as text, such as '0.0125', not {shown(given)}."
        )
    if cost != round(cost, COST_PLACES):
        raise StepFailed(
            f"The cost of a Reply has at most {COST_PLACES} places after the point, and {given} "
            "has more: round it."
        )
    return f"{abs(cost).normalize():f}"
