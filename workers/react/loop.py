"""`react`: a graph in which a model is asked and the tools it calls are carried out, in turns."""

from __future__ import annotations

import decimal
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..authoring.checks import shown
from ..authoring.errors import GraphError
from ..authoring.graph import END, NODES_MAX, Graph
from ..authoring.language_models import Model
from ..authoring.tools import Gate, Tool
from .conversation import Conversation
from .nodes import CALL, LISTEN, MODEL, SUMMARISE, Loop
from .tool_calls import loop_tools

CALLS_AT_ONCE: Final = 8


def react(
    name: str = "react",
    *,
    model: Model | str | None = None,
    tools: Sequence[Tool | Callable[..., Any]] = (),
    instructions: str = "",
    gates: Mapping[str, Gate] | None = None,
    state: type[Conversation] = Conversation,
    max_turns: int = 20,
    max_tokens: int | None = None,
    max_cost: str | None = None,
    calls_at_once: int = CALLS_AT_ONCE,
    summarise_at: int = 100_000,
    keep: int = 10,
    result_characters: int = 50_000,
    chat: bool = False,
    **graph: Any,
) -> Graph:
    """An agent that asks a model, carries out the tools it calls, and asks again, to its answer.

    `model` is a function, or a name that the settings allow; without it the settings choose.
    `tools` are functions with types and docstrings (each call is an activity) and tools (an
    effect; `gates` by name stand before them, policies as ever). The calls of one answer are
    carried out together, `calls_at_once` of them.

    The loop ends with an `answer`, or `stopped` says why not: after `max_turns` answers to one
    message of a person, or when the thread has used `max_tokens` or `max_cost` dollars.
    When the model was shown more than `summarise_at` tokens, all but the last `keep` messages are
    summarised. It is shown `result_characters` of a result; the record has the whole.
    With `chat` an answer is a question to people: what they respond is their next message, and
    anyone who refuses ends the conversation.
    All else as for Graph.
    """
    if not callable(model) and not isinstance(model, str | None):
        raise GraphError(f"model={shown(model)} must be a function of a Request, or a name.")
    _check_number("max_turns", max_turns, 1)
    _check_number("calls_at_once", calls_at_once, 1, NODES_MAX)
    _check_number("summarise_at", summarise_at, 1)
    _check_number("keep", keep, 1)
    _check_number("result_characters", result_characters, 100)
    if max_tokens is not None:
        _check_number("max_tokens", max_tokens, 1)
    if graph.get("files") and not graph.get("home"):
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        file = caller.f_globals.get("__file__") if caller is not None else None
        graph["home"] = os.path.dirname(os.path.abspath(file or "."))
    if calls_at_once != CALLS_AT_ONCE:
        graph.setdefault("nodes_at_once", calls_at_once)
    made = Graph(
        name,
        state,
        model=model if callable(model) else None,
        message_channel=graph.pop("message_channel", "messages"),
        tools=[t for t in tools if isinstance(t, Tool)],
        tool_texts={
            getattr(t, "__name__", ""): t.__doc__ or "" for t in tools if not isinstance(t, Tool)
        },
        **graph,
    )
    loop = Loop(
        loop_tools(tools, gates or {}),
        model if isinstance(model, str) else "",
        instructions,
        max_turns,
        max_tokens,
        None if max_cost is None else _amount(max_cost),
        calls_at_once if tools else 0,
        summarise_at,
        keep,
        result_characters,
        chat,
    )
    calls = [f"{CALL}{n}" for n in range(1, loop.calls_at_once + 1)]
    others = (*((LISTEN,) if chat else ()), SUMMARISE, END)
    made.node(MODEL, then=loop.after_answer, ways=(*calls, *others), label="Ask the model")(
        loop.ask
    )
    for number, title in enumerate(calls):
        label = f"Tool call {number + 1}"
        made.node(title, then=MODEL, label=label, gate=bool(gates))(loop.call(number))
    if chat:
        made.node(LISTEN, then=loop.on, ways=(MODEL, END), label="Wait for a message", gate=True)(
            loop.listen
        )
    made.node(SUMMARISE, then=loop.on, ways=(MODEL, END), label="Summarise")(loop.summarise)
    return made


def _check_number(what: str, number: Any, least: int, most: int = 10**9) -> None:
    if type(number) is not int or not least <= number <= most:
        raise GraphError(f"{what}={shown(number)} must be a whole number, {least} to {most}.")


def _amount(value: Any) -> decimal.Decimal:
    try:
        amount = None if isinstance(value, bool | float) else decimal.Decimal(value)
    except (decimal.InvalidOperation, TypeError, ValueError):
        amount = None
    if amount is None or not amount.is_finite() or amount <= 0:
        raise GraphError(f"max_cost={shown(value)} must be dollars as text, such as '0.50'.")
    return amount
