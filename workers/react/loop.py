"""`react`: a graph in which a model is asked and the tools it calls are carried out, in turns."""

from __future__ import annotations

import decimal
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, Final

from ..authoring.checks import shown
from ..authoring.errors import GraphError
from ..authoring.graph import END, NODES_MAX, Graph
from ..authoring.language_models import Model
from ..authoring.tools import Gate, Tool
from .conversation import Conversation
from .nodes import CALL, LISTEN, MODEL, SUMMARISE, Loop, check_number
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

    1. Check the bounds of the loop.
    2. Make the graph; files that it names are looked for beside the caller's module.
    3. Add the nodes: the model, its calls, a message of a person, the summary.

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
    check_number("calls_at_once", calls_at_once, 1, NODES_MAX)
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
    if graph.get("files") and not graph.get("home"):
        frame = inspect.currentframe()
        graph["home"] = _folder_of(frame.f_back if frame is not None else None)
    if calls_at_once != CALLS_AT_ONCE:
        graph.setdefault("nodes_at_once", calls_at_once)
    made = _graph(name, state, model if callable(model) else None, tools, graph)
    return _add_nodes(made, loop, has_gates=bool(gates))


def _graph(
    name: str,
    state: type[Conversation],
    model: Model | None,
    tools: Sequence[Tool | Callable[..., Any]],
    options: dict[str, Any],
) -> Graph:
    """The graph of a loop without its nodes; functions among the tools are no effects."""
    functions = [t for t in tools if not isinstance(t, Tool)]
    return Graph(
        name,
        state,
        model=model,
        message_channel=options.pop("message_channel", "messages"),
        tools=[t for t in tools if isinstance(t, Tool)],
        tool_texts={getattr(f, "__name__", ""): f.__doc__ or "" for f in functions},
        **options,
    )


def _add_nodes(graph: Graph, loop: Loop, *, has_gates: bool) -> Graph:
    """Add the nodes of a loop: the model first, then its calls, a message, the summary."""
    calls = [f"{CALL}{n}" for n in range(1, loop.calls_at_once + 1)]
    others = (*((LISTEN,) if loop.is_chat else ()), SUMMARISE, END)
    ask = graph.node(MODEL, then=loop.after_answer, ways=(*calls, *others), label="Ask the model")
    ask(loop.ask)
    for number, title in enumerate(calls):
        label = f"Tool call {number + 1}"
        graph.node(title, then=MODEL, label=label, gate=has_gates)(loop.call(number))
    ways = (MODEL, END)
    if loop.is_chat:
        listen = graph.node(LISTEN, then=loop.on, ways=ways, label="Wait for a message", gate=True)
        listen(loop.listen)
    graph.node(SUMMARISE, then=loop.on, ways=ways, label="Summarise")(loop.summarise)
    return graph


def _folder_of(frame: FrameType | None) -> str:
    """The folder of the module whose code runs in a frame."""
    file = frame.f_globals.get("__file__") if frame is not None else None
    return os.path.dirname(os.path.abspath(file or "."))


def _amount(value: Any) -> decimal.Decimal:
    try:
        amount = None if isinstance(value, bool | float) else decimal.Decimal(value)
    except (decimal.InvalidOperation, TypeError, ValueError):
        amount = None
    if amount is None or not amount.is_finite() or amount <= 0:
        raise GraphError(f"max_cost={shown(value)} must be dollars as text, such as '0.50'.")
    return amount
