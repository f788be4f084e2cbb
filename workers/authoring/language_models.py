"""How a model is asked: what is sent, what comes back, and who it is sent to.

A model is a function of a `Request` that answers a `Reply`. An agent names its own
(`Graph(..., model=answer)`); otherwise the settings name one (workers.language.configuration).
Where neither is there the call fails and says so: nothing pretends to be a model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal, Protocol

from checkpoints.errors import GatepostError
from checkpoints.state import deltas
from checkpoints.state.channels import LastValue
from checkpoints.states import EventKind

from .checks import check_text, shown
from .errors import StepFailed
from .frozen import plain
from .messages import (
    ModelAnswer,
    ToolCall,
    Usage,
    check_schema,
    checked_answer,
    checked_messages,
    checked_tools,
    text_of,
)
from .tools import Tool

SETTING = "GATEPOST_MODEL"
NAME_MAX = 200
TOKENS_MAX = 10**9
COST_BELOW = 10**6
COST_PLACES = 6
CONVERSATION_MAX: Final = 200
type IfGone = Literal["fail", "restart"]
IF_GONE: Final = ("fail", "restart")
EVENT_CHARACTERS = 20_000  # of a reasoning or of arguments in an event; the record has the whole
_NAMED_IF_SET = ("tokens_cached", "tokens_reasoning", "finish_reason", "request_id")
NONE_INSTALLED = (
    f"There is no model to ask. Name one: {SETTING}=openai:NAME or anthropic:NAME for all "
    "agents of a worker, or Graph(..., model=function) for one. In a test: "
    "Harness(graph).play(model=...)."
)


@dataclass(frozen=True)
class ConversationId(LastValue):
    """A channel with the id of a conversation that a provider holds, "" before the first answer.

    talk: Annotated[str, ConversationId("openai-responses")] = ""
    """

    provider: str

    def to_json(self) -> dict[str, Any]:
        """As for any channel that keeps its last value, with the provider."""
        return {**super().to_json(), "conversation": self.provider}


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a model, recorded as it is.

    `parts` are texts and other JSON values, in order. `model` is a name that the function knows,
    "" its own choice; `temperature`, `max_tokens` and `seed` None likewise. With `chat` (messages
    of system, user, assistant and tool) there are no parts, and the answer may ask for calls of
    `tools` or has to fit the JSON `schema`. `conversation` is the id of one that the provider
    holds, "" to begin one, None where it shall hold none.
    """

    parts: tuple[Any, ...]
    model: str = ""
    system: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    chat: tuple[dict[str, Any], ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    schema: dict[str, Any] | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    conversation: str | None = None
    if_gone: str = "fail"

    @property
    def text(self) -> str:
        """The parts as one text: texts as they are, all else as JSON, an empty line in between."""
        return "\n\n".join(text_of(part) for part in self.parts)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The whole query as messages: the system text, then the messages or the parts."""
        chat = self.chat or ({"role": "user", "content": self.text},)
        system = ({"role": "system", "content": self.system},) if self.system else ()
        return [dict(message) for message in (*system, *chat)]

    @property
    def continued(self) -> Request:
        """The request for a provider that holds the conversation: all after its last answer."""
        answers = [n for n, m in enumerate(self.chat, 1) if m["role"] == "assistant"]
        rest = self.chat[answers[-1] :] if answers else ()
        return replace(self, chat=rest, system="") if rest else self

    def to_json(self) -> dict[str, Any]:
        """The request as it is recorded, without the defaults."""
        more = {
            "model": self.model or None,
            "system": self.system or None,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "tools": list(self.tools) or None,
            "schema": self.schema,
            "seed": self.seed,
            "stop": list(self.stop) or None,
            "conversation": self.conversation,
            "if_gone": None if self.conversation is None else self.if_gone,
        }
        query = {"messages": list(self.chat)} if self.chat else {"parts": list(self.parts)}
        return {
            **query,
            **{name: value for name, value in more.items() if value is not None},
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer, and its tokens and cost.

    `model` is the exact name of the model that answered; `cost` in dollars, as text or Decimal with
    at most six places, since a float loses parts of a cent; None where the price is not known.
    `tokens_in` includes `tokens_cached`, `tokens_out` includes `tokens_reasoning`. `conversation`
    is the id to continue with, where the provider holds the conversation.
    """

    text: str
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: str | Decimal | int | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    tokens_cached: int = 0
    tokens_reasoning: int = 0
    request_id: str = ""
    reasoning: str = ""
    conversation: str = ""


class Model(Protocol):
    """A model. May be `async def`; what it raises fails the step, and a retry asks again.

    Called once per position: what it answered is kept, and is the answer from then on.
    """

    def __call__(self, request: Request, /) -> Reply | Awaitable[Reply]: ...


def missing(request: Request, /) -> Reply:
    """Stands where no model is: refuses, and says what to do."""
    raise StepFailed(NONE_INSTALLED)


class ModelRefused(GatepostError):
    """A model refused to answer; asked for its text there is none."""


def request_of(
    parts: tuple[Any, ...],
    config: Mapping[str, Any],
    *,
    messages: Sequence[Mapping[str, Any]] | None = None,
    tools: Sequence[Tool | Callable[..., Any] | Mapping[str, Any]] = (),
    schema: Mapping[str, Any] | None = None,
    model: str = "",
    system: str = "",
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    stop: Sequence[str] = (),
    conversation: str | None = None,
    if_gone: str = "fail",
) -> Request:
    """The request of one call; where it names no model or temperature, `config` does."""
    if not parts and messages is None:
        raise StepFailed('ctx.model takes what to ask: ctx.model("Summarise this", table).')
    if parts and messages is not None:
        raise StepFailed("ctx.model takes texts or messages=, not both.")
    if messages is None and (tools or schema is not None):
        raise StepFailed("tools= and schema= need messages=: their answer is more than a text.")
    name = model or config.get("model") or ""
    warmth = config.get("temperature") if temperature is None else temperature
    if not isinstance(name, str) or len(name) > NAME_MAX:
        raise StepFailed(f"The model's name must be text of up to {NAME_MAX} characters.")
    if warmth is not None and (isinstance(warmth, bool) or not isinstance(warmth, int | float)):
        raise StepFailed(f"The temperature must be a number, not {shown(warmth)}.")
    check_text(system, "The model's system text")
    if max_tokens is not None and (type(max_tokens) is not int or max_tokens < 1):
        raise StepFailed(f"max_tokens must be a whole number from 1, not {shown(max_tokens)}.")
    if seed is not None and type(seed) is not int:
        raise StepFailed(f"The seed must be a whole number, not {shown(seed)}.")
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    if not all(isinstance(text, str) and text for text in stops):
        raise StepFailed("stop must be texts at which the answer ends.")
    if conversation is not None:
        if messages is None:
            raise StepFailed("conversation= needs messages=: they are what it starts anew with.")
        if not isinstance(conversation, str) or len(conversation) > CONVERSATION_MAX:
            raise StepFailed(f"conversation= takes text of up to {CONVERSATION_MAX} characters.")
    if if_gone not in IF_GONE:
        raise StepFailed(f"if_gone= takes {' or '.join(IF_GONE)}, not {shown(if_gone)}.")
    response = None if schema is None else plain(dict(schema))
    if response is not None:
        check_schema(response, "$.schema")
    return Request(
        parts,
        name,
        system,
        warmth,
        max_tokens,
        chat=() if messages is None else checked_messages(messages),
        tools=checked_tools(tools),
        schema=response,
        seed=seed,
        stop=stops,
        conversation=conversation,
        if_gone=if_gone,
    )


def recorded_answer(request: Request, reply: Any) -> tuple[Any, dict[str, Any]]:
    """(what is recorded, what it took) of a reply: text to texts, a ModelAnswer to messages.

    Where text is expected a refusal is an error, ModelRefused: nobody shall take it for an answer.
    """
    text, usage = used(reply)
    if not request.chat:
        refused = reply.finish_reason == "refusal"
        return ModelRefused(f"The model refused: {text}") if refused else text, usage
    answer = ModelAnswer(
        text,
        reply.tool_calls,
        reply.finish_reason,
        reply.reasoning,
        usage=Usage(usage),
        conversation=reply.conversation,
    )
    checked = checked_answer(answer, tools=request.tools, schema=request.schema)
    return checked.to_json(), dict(usage)


def events_of(returned: Any, result: Any) -> Iterator[tuple[EventKind, dict[str, Any]]]:
    """The events beside the answer: the model's reasoning, and each tool call that it asks for."""
    recorded = result if isinstance(result, dict) else {}
    reasoning = recorded.get("reasoning") or getattr(returned, "reasoning", "")
    if reasoning:
        yield EventKind.MODEL_REASONED, {"text": _cut(reasoning)}
    for call in recorded.get("tool_calls", ()):
        arguments = deltas.canonical(call["arguments"])
        fits = len(arguments) <= EVENT_CHARACTERS
        more = {"error": _cut(call["error"])} if call.get("error") else {}
        yield (
            EventKind.MODEL_TOOL_CALLED,
            {
                "call": call["id"],
                "tool": call["name"],
                "arguments": call["arguments"] if fits else _cut(arguments.decode()),
                **more,
            },
        )


def _cut(text: str) -> str:
    return text if len(text) <= EVENT_CHARACTERS else f"{text[:EVENT_CHARACTERS]}…"


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
    for name in ("tokens_in", "tokens_out", "tokens_cached", "tokens_reasoning"):
        count = getattr(reply, name)
        if type(count) is not int or not 0 <= count <= TOKENS_MAX:
            raise StepFailed(
                f"{name} of a Reply must be a whole number from 0, not {shown(count)}."
            )
    for name in ("finish_reason", "request_id", "reasoning", "conversation"):
        if not isinstance(getattr(reply, name), str):
            raise StepFailed(f"{name} of a Reply must be text.")
    return reply.text, {
        "model": reply.model,
        "tokens": reply.tokens_in + reply.tokens_out,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        **({"unpriced": True} if reply.cost is None else {"cost": _cost(reply.cost)}),
        **{name: getattr(reply, name) for name in _NAMED_IF_SET if getattr(reply, name)},
    }


def _cost(value: Any) -> str:
    try:
        cost = None if isinstance(value, bool | float) else Decimal(value)
    except (InvalidOperation, TypeError, ValueError):
        cost = None
    if cost is None or not cost.is_finite() or not 0 <= cost < COST_BELOW:
        raise StepFailed(
            f"The cost of a Reply must be an amount as text, such as '0.0125', not {shown(value)}."
        )
    if cost != round(cost, COST_PLACES):
        raise StepFailed(
            f"The cost of a Reply has at most {COST_PLACES} places after the point, and {value} "
            "has more: round it."
        )
    return f"{abs(cost).normalize():f}"
