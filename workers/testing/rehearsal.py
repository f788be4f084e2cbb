"""What a play is given from outside: verdicts by script, stand-ins for the outside world."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import update_wrapper
from typing import Any

from approvals.queries import ApprovalRow
from checkpoints.durabilities import DURABLE

from ..authoring.errors import OutsideActivity, Refused
from ..authoring.graph import Gate, Graph, Node, Tool
from ..authoring.language_models import Model, Reply, Request
from ..node.context import Context
from ..step.answers import Outcome, result_of


@dataclass(frozen=True, slots=True)
class Approve:
    """The reviewer says yes. `by` is who it is, where several have to."""

    comment: str = ""
    by: str = "reviewer"


@dataclass(frozen=True, slots=True)
class Reject:
    """The reviewer says no, and why; `what_next` is go_on, stop or roll_back."""

    comment: str
    what_next: str = ""
    by: str = "reviewer"


@dataclass(frozen=True, slots=True)
class Edit:
    """The reviewer says yes to other arguments: all of them, as they shall be."""

    args: Mapping[str, Any]
    comment: str = ""
    by: str = "reviewer"


@dataclass(frozen=True, slots=True)
class AskBack:
    """The reviewer asks the agent something before deciding; the request stays open."""

    comment: str
    by: str = "reviewer"


@dataclass(frozen=True, slots=True)
class Respond:
    """The reviewer answers a question."""

    value: Any
    comment: str = ""
    by: str = "reviewer"


class Scripted:
    """Gives these answers one after the other: for a model, a search, a shop.

    An exception among them is raised. `calls` keeps the arguments of each call.
    """

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls.append((args, kwargs))
        if len(self.calls) > len(self._answers):
            raise AssertionError(
                f"Call {len(self.calls)} of a script with {len(self._answers)} answers: "
                f"{args} {kwargs or ''}".rstrip()
            )
        answer = self._answers[len(self.calls) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


Script = Callable[[Request], Any] | Iterable[Any] | None


def scripted_model(value: Any) -> Model:
    """The model behind `ctx.model` in a play: a function of the request, or answers in order.

    An answer that is plain text takes no tokens and costs nothing. A function may have
    `estimate(request)`, the most that its call costs.
    """
    if isinstance(value, str | Reply):
        raise TypeError(f"model={value!r} is one answer: give a list of them, or a function.")
    answering = value if callable(value) else Scripted(*value)

    def answer(request: Request, /) -> Any:
        message = result_of(lambda: answering(request))
        return Reply(message, model="scripted", cost="0") if isinstance(message, str) else message

    if (estimate := getattr(value, "estimate", None)) is not None:
        vars(answer)["estimate"] = estimate
    return answer


Verdict = Approve | Edit | AskBack | Reject | Respond
Decide = (
    str
    | Verdict
    | Iterable[str | Verdict | None]
    | Mapping[str, str | Verdict]
    | Callable[[ApprovalRow], str | Verdict | None]
    | None
)


def verdict_of(value: object) -> Verdict | None:
    """A verdict from a script; "approve" stands for `Approve()`. TypeError for anything else."""
    if value == "approve":
        return Approve()
    if value is None or isinstance(value, Verdict):
        return value
    raise TypeError(
        f"{value!r} is not a verdict: use 'approve', Approve(comment), Reject(reason), "
        "Edit(args), AskBack(question) or Respond(value)."
    )


def names_of(request: ApprovalRow) -> tuple[str, ...]:
    """The names by which a script may mean a request: title, tool, node, the author's key."""
    return request.title, request.tool, request.node, request.key.rpartition("#")[0]


def reviewer_of(decide: Decide) -> Callable[[ApprovalRow], Verdict | None]:
    """The reviewer of a play, as a function: None leaves a request open.

    One verdict is for all requests, a list for one after the other, a dict is looked up by title,
    tool, node or the author's key.
    """
    if decide is None:
        return lambda _: None
    if isinstance(decide, str | Verdict):
        always = verdict_of(decide)
        return lambda _: always
    if isinstance(decide, Mapping):
        named = {name: verdict_of(v) for name, v in decide.items()}
        return lambda a: next((named[n] for n in names_of(a) if n in named), None)
    if callable(decide):
        ask = decide
        return lambda a: verdict_of(ask(a))
    script: Iterator[Any] = iter(decide)
    return lambda _: verdict_of(next(script, None))


class Rehearsed(Context):
    """A context that calls stand-ins in place of what they are named for."""

    stand_ins: Mapping[str, Any] = {}

    def activity(
        self, call: Callable[..., Any], *args: Any, key: str | None = None, **kwargs: Any
    ) -> Any:
        name = getattr(call, "__name__", "activity")
        stand_in = self.stand_ins.get(name)
        if stand_in is None:
            return super().activity(call, *args, key=key, **kwargs)

        def standing_in(*args: Any, **kwargs: Any) -> Any:
            return stand_in(*args, **kwargs)

        # What stands in passes for the real one: by its name the position is known.
        update_wrapper(standing_in, call)
        standing_in.__name__ = name
        return super().activity(standing_in, *args, key=key, **kwargs)

    def effect(
        self,
        tool: Tool,
        args: Mapping[str, Any],
        *,
        gate: Gate | None = None,
        key: str | None = None,
    ) -> Outcome:
        name = getattr(tool, "name", "")
        return super().effect(self.stand_ins.get(name, tool), args, gate=gate, key=key)


def rehearsed(
    graph: Graph,
    stand_ins: Mapping[str, Any],
    failed: Callable[[Any], None],
    context_of: Callable[[Context], Rehearsed],
) -> Graph:
    """The graph with stand-ins in reach of its nodes; `failed` is called with what a node raises.

    `context_of` makes the context that a node gets of the engine's.
    """

    def wrapped(node: Node) -> Node:
        def call(state: Any, ctx: Context) -> Any:
            inner = context_of(ctx)
            inner.stand_ins = stand_ins
            try:
                return node.call(state, inner)
            except Exception as error:
                failed(error)
                raise
            except Refused as refused:
                failed(OutsideActivity(str(refused)))
                raise

        call.__wrapped__ = node.call  # type: ignore[attr-defined]
        return replace(node, call=call)

    # A play is kept until its end, whatever the agent keeps: an author looks at what happened.
    nodes = {name: wrapped(node) for name, node in graph.nodes.items()}
    return replace(graph, nodes=nodes, durability=DURABLE, ttl=None, acknowledge=None)


def stand_ins_of(tools: Mapping[str, Any], known: Mapping[str, Tool]) -> dict[str, Any]:
    """Stand-ins by name; one for a tool keeps what the tool promises, its schema and its undo."""
    results: dict[str, Any] = {}
    for name, value in tools.items():
        if not callable(value):
            raise TypeError(f"The stand-in for {name!r} must be a function or a Tool.")
        tool = known.get(name)
        if tool is None or isinstance(value, Tool):
            results[name] = value
            continue
        results[name] = stand_in = replace(tool, call=value)
        stand_in.__dict__["schema"] = tool.schema  # people are shown the real one
    return results


def tools_of(graph: Graph) -> dict[str, Tool]:
    """The tools that stand in the modules of the graph's nodes, as a worker finds them."""
    results: dict[str, Tool] = {tool.name: tool for tool in graph.tools}
    for node in graph.nodes.values():
        call = inspect.unwrap(node.call)
        own = [vars(m) for n, m in sorted(sys.modules.items()) if _within(n, call)]
        closed = inspect.getclosurevars(call).nonlocals if inspect.isfunction(call) else {}
        for names in (*own, getattr(call, "__globals__", {}), closed):
            for value in list(names.values()):
                if isinstance(value, Tool):
                    results[value.name] = value
    return results


def _within(name: str, call: Callable[..., Any]) -> bool:
    """Answer True if a module belongs to the package of a node's own module."""
    home = str(getattr(call, "__module__", "")).rpartition(".")[0]
    return bool(home) and (name == home or name.startswith(f"{home}."))
