"""The nodes of a loop: ask the model, carry out one call, summarise, wait for a person."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..authoring.checks import shown
from ..authoring.errors import Expired, GraphError, Rejected, StepFailed
from ..authoring.graph import END, Way, plain
from ..authoring.messages import ModelAnswer
from .conversation import (
    Conversation,
    Message,
    Summary,
    cut,
    estimated_tokens,
    open_calls,
    shown_messages,
    turns,
)
from .tool_calls import LoopTool, carry_out

if TYPE_CHECKING:
    from ..node.context import Context

MODEL, SUMMARISE, LISTEN, CALL = "model", "summarise", "listen", "call_"
SUMMARY_PROMPT: Final = (
    "You shorten the history of a conversation between a person, an assistant and its tools. Write "
    "what the assistant needs to continue: the goal, what was established with its numbers, names "
    "and sources, what was decided, what remains open. Do not add anything. Answer with the text "
    "alone."
)
STOPS: Final = {
    "length": "The model's answer was cut off at its limit of tokens.",
    "refusal": "The model refused to answer.",
}


def check_number(what: str, number: Any, least: int, most: int = 10**9) -> None:
    """Raise GraphError unless an argument of `react` is a whole number within its bounds."""
    if type(number) is not int or not least <= number <= most:
        raise GraphError(f"{what}={shown(number)} must be a whole number, {least} to {most}.")


@dataclass(frozen=True)
class Loop:
    """The nodes of one loop and what bounds them."""

    tools: dict[str, LoopTool]
    model: str
    instructions: str
    max_turns: int
    max_tokens: int | None
    max_cost: decimal.Decimal | None
    calls_at_once: int
    summarise_at: int
    keep: int
    result_characters: int
    is_chat: bool

    def __post_init__(self) -> None:
        """Raise GraphError for a bound that is none."""
        check_number("max_turns", self.max_turns, 1)
        check_number("summarise_at", self.summarise_at, 1)
        check_number("keep", self.keep, 1)
        check_number("result_characters", self.result_characters, 100)
        if self.max_tokens is not None:
            check_number("max_tokens", self.max_tokens, 1)

    def ask(self, state: Conversation, ctx: Context) -> dict[str, Any]:
        """Ask the model once; its answer is a message, and perhaps the end."""
        if open_calls(state.messages):
            return {}  # it asked for more calls than there are nodes: the others come now
        new: list[Message] = []
        if not state.messages:
            if not state.goal:
                raise StepFailed("There is nothing to answer: start with a goal or with messages.")
            new = [{"role": "user", "content": state.goal}]
        if why := self._reached(turns(state.messages), state.tokens, state.cost):
            return {"stopped": why, **({"messages": new} if new else {})}
        messages = shown_messages(state, new)
        messages.record["tools"] = sorted(self.tools)
        answer = ctx.model(
            messages=messages,
            tools=[tool.shown for tool in self.tools.values()],
            system=self.instructions,
            model=self.model,
        )
        message = _message(answer)
        used = _used(answer)
        update: dict[str, Any] = {
            **used,
            "messages": [*new, message],
            "context_tokens": answer.usage.get("tokens") or estimated_tokens([*messages, message]),
        }
        if not answer.tool_calls:
            update["answer"] = answer.text
            why = STOPS.get(answer.finish_reason, "")
        else:
            cost = str(decimal.Decimal(state.cost) + decimal.Decimal(used.get("cost", "0")))
            count = turns(state.messages) + 1
            why = self._unpriced(answer) or self._reached(
                count, state.tokens + used["tokens"], cost
            )
            if why:
                # A call without a result would make the conversation useless for the next turn.
                update["messages"] += [
                    _reply(call, f"Not carried out: {why}") for call in message["tool_calls"]
                ]
        if why != state.stopped:
            update["stopped"] = why
        return update

    def after_answer(self, state: Conversation) -> Way:
        """To the calls that the model asks for, beside them to the summary when it is due."""
        names = [] if state.stopped else [call["name"] for call in open_calls(state.messages)]
        to = [f"{CALL}{n}" for n in range(1, min(len(names), self.calls_at_once) + 1)]
        because = f"the model calls {', '.join(names)}" if names else "the model has answered"
        if state.stopped:
            because = state.stopped
        elif self.is_chat and not names:
            to.append(LISTEN)
        if not state.stopped and self._summary_is_due(state):
            to.append(SUMMARISE)
            because += f"; {state.context_tokens} tokens are many, so older messages are summarised"
        return Way(to or END, because[:500])

    def call(self, number: int) -> Callable[[Conversation, Context], dict[str, Any]]:
        """The node that carries out the model's call of this number."""

        def call_tool(state: Conversation, ctx: Context) -> dict[str, Any]:
            calls = open_calls(state.messages)
            if number >= len(calls):
                return {}
            text = carry_out(ctx, self.tools, calls[number])
            if len(text) > self.result_characters:
                rest = len(text) - self.result_characters
                text = f"{text[: self.result_characters]}\n[{rest} more characters are not shown]"
            return {"messages": [_reply(calls[number], text)]}

        return call_tool

    def summarise(self, state: Conversation, ctx: Context) -> dict[str, Any]:
        """Let the model write what it needs of older messages, to be shown in their place."""
        start = state.summarised
        messages = state.messages[start:]
        count = cut(messages, self.keep)
        if not count:
            return {}
        former = "" if state.summary is None else f"Summary so far:\n{state.summary.text}\n\n"
        text = "\n".join(_line(message) for message in messages[:count])
        answer = ctx.model(
            messages=[{"role": "user", "content": f"{former}Messages:\n{text}"}],
            system=SUMMARY_PROMPT,
            model=self.model,
            key=SUMMARISE,
        )
        update = _used(answer)
        if not answer.text or answer.finish_reason in STOPS:
            ctx.think("There is no summary: the model wrote none. All messages are shown further.")
            return update
        number = start + count
        ctx.think(f"The first {number} messages are summarised; the model is shown the summary.")
        model = str(answer.usage.get("model", ""))
        return {**update, "summary": Summary(text=answer.text, messages=number, model=model)}

    def listen(self, state: Conversation, ctx: Context) -> dict[str, Any]:
        """Show people the answer and wait for their next message."""
        try:
            reply = ctx.ask(state.answer or "What next?", schema={"type": "string", "minLength": 1})
        except (Rejected, Expired):
            return {"stopped": "The conversation was ended."}
        return {"messages": [{"role": "user", "content": reply.value}]}

    def on(self, state: Conversation) -> str:
        """Back to the model where there is something to answer, else to the end."""
        return END if state.stopped or state.messages[-1]["role"] == "assistant" else MODEL

    def _summary_is_due(self, state: Conversation) -> bool:
        messages = state.messages[state.summarised :]
        return state.context_tokens > self.summarise_at and cut(messages, self.keep) > 0

    def _reached(self, count: int, tokens: int, cost: str) -> str:
        """Which limit leaves no room for another turn; "" for none."""
        if count >= self.max_turns:
            return f"The limit of {self.max_turns} turns is reached."
        if self.max_tokens is not None and tokens >= self.max_tokens:
            return f"The limit of {self.max_tokens} tokens is reached ({tokens} used)."
        if self.max_cost is not None and decimal.Decimal(cost) >= self.max_cost:
            return f"The limit of {self.max_cost} dollars is reached ({cost} spent)."
        return ""

    def _unpriced(self, answer: ModelAnswer) -> str:
        if self.max_cost is None or not answer.usage.get("unpriced"):
            return ""
        name = answer.usage.get("model") or "the model"
        return f"The price of {name} is not known, so the limit in dollars cannot be kept."


def _message(answer: ModelAnswer) -> Any:
    """The model's answer as a message; each of its calls gets an id of its own."""
    message = plain(answer.message)
    seen: set[str] = set()
    for number, call in enumerate(message.get("tool_calls", ())):
        if not call["id"] or call["id"] in seen:
            call["id"] = f"{call['id'] or 'call'}-{number + 1}"
        seen.add(call["id"])
    return message


def _reply(call: Mapping[str, Any], text: str) -> Message:
    return {"role": "tool", "content": text, "tool_call_id": call["id"]}


def _used(answer: ModelAnswer) -> dict[str, Any]:
    """The tokens and cost that an answer adds to the sums of the state."""
    usage = answer.usage
    cost = {"cost": usage["cost"]} if usage.get("cost") else {}
    return {"tokens": usage.get("tokens", 0), **cost}


def _line(message: Mapping[str, Any]) -> str:
    calls = "".join(
        f"\n  calls {call['name']} {plain(call['arguments'])}"
        for call in message.get("tool_calls", ())
    )
    return f"[{message['role']}] {message['content']}{calls}"
