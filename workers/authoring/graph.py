"""What an agent author imports: Graph, State, tool, Gate, END and the reducers.

    class Research(State):
        goal: str
        findings: Annotated[list[str], Append()] = []

    graph = Graph("research", Research, version=1)

    @graph.node(then=END)
    def analyse(state: Research, ctx: Context) -> dict: ...

The first node declared is where a thread begins.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any, Final, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict

from checkpoints.durabilities import DURABLE, EPHEMERAL, Acknowledge, Durability
from checkpoints.limits import STEPS_MAX
from checkpoints.payload_kinds import DATABASE, KINDS
from checkpoints.state import deltas
from checkpoints.state.channels import Append, Custom, Decimal, LastValue, Merge, Reducer, Sum
from checkpoints.state.durable import Durable
from checkpoints.state.encrypted import Encrypted
from checkpoints.state.schema import Upgrades
from checkpoints.state.searchable import Searchable

from .checks import (
    check_exempt,
    check_message_channel,
    check_prompts,
    encrypted_of,
    searchable_of,
    shown,
)
from .description import described_channels, described_model
from .durability import (
    check_durability,
    check_node_durability,
    described_durability,
    durable_channels,
)
from .errors import GraphError
from .frozen import plain
from .joins import Joins, ways_of
from .language_models import Model
from .retry_policy import Retry, RetryLater, policy_of
from .state_view import Border, holds_list
from .time_limits import check_limit
from .tools import Gate, Tool, tool

NODES_MAX: Final = 64

__all__ = [
    "END",
    "Append",
    "Custom",
    "Decimal",
    "Durable",
    "Encrypted",
    "Gate",
    "Graph",
    "LastValue",
    "Merge",
    "Node",
    "Retry",
    "RetryLater",
    "Searchable",
    "State",
    "Sum",
    "Tool",
    "Upgrades",
    "Way",
    "plain",
    "tool",
]

END: Final = "__end__"
# Names of agents that the engine brings itself: threads of them are no author's.
RESERVED: Final = frozenset({"saga"})


class State(BaseModel):
    """The schema of a thread's state: one field per channel, reducer in `Annotated`.

    Good for the items of a channel as well: no field of it can be assigned.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    def _ordinary(self) -> Self:
        """The same without the views of a node, which Pydantic cannot write."""
        return type(self).model_validate({k: plain(v) for k, v in self.__dict__.items()})

    def model_dump(self, **how: Any) -> dict[str, Any]:
        """As Pydantic does it; costs a copy of the whole."""
        return super(State, self._ordinary()).model_dump(**how)

    def model_dump_json(self, **how: Any) -> str:
        """As Pydantic does it; costs a copy of the whole."""
        return super(State, self._ordinary()).model_dump_json(**how)


@dataclass(frozen=True, slots=True)
class Way:
    """Which node comes next and why; what a function edge may return instead of a name."""

    to: str | Sequence[str]
    because: str = ""


Edge = str | Sequence[str] | Callable[[Any], Any]


@dataclass(frozen=True)
class Node:
    """A function of the graph and where it leads."""

    name: str
    call: Callable[..., Any]
    then: Edge
    ways: tuple[str, ...]
    label: str
    gate: bool
    time_limit: float | None = None
    on_expired: str = ""
    join: bool = True
    durability: Literal["durable"] | None = None

    @property
    def leads(self) -> tuple[str, ...]:
        """All ways out, that of an expired request last."""
        more = (self.on_expired,) if self.on_expired else ()
        return tuple(dict.fromkeys((*self.ways, *more)))

    @property
    def late(self) -> Node:
        """The same node, left by the way that it takes when nobody decided in time."""
        to = self.on_expired
        expired = Way(to, "nobody decided in time")
        return replace(self, then=lambda _: expired, ways=(to,))

    def next_nodes(self, state: Any) -> tuple[tuple[str, ...], str | None]:
        """(names, why) after this node; why is None unless a function chose."""
        if not callable(self.then):
            return self.ways, None
        chosen: Any = self.then(state)
        if type(chosen) is str and chosen in self.ways:
            return (chosen,), ""
        edge = chosen if isinstance(chosen, Way) else Way(chosen)
        because = edge.because
        to: Any = [edge.to] if isinstance(edge.to, str) else edge.to
        if not isinstance(to, list | tuple):
            raise GraphError(
                f"The way after {self.name!r} must be the name of a node, several of them, or "
                f"Way(...), not {type(to).__name__}."
            )
        names = tuple(to)
        for name in names:
            if not isinstance(name, str) or name not in self.ways:
                raise GraphError(
                    f"The way after {self.name!r} leads to {shown(name)}, which is not among its "
                    f"ways ({', '.join(self.ways)})."
                )
        if not isinstance(because, str):
            raise GraphError(
                f"Why the way after {self.name!r} was taken must be text, not "
                f"{type(because).__name__}."
            )
        return names, because


class Declare(Protocol):
    """The decorator of `graph.node(...)`: it declares a function and leaves its type as it is."""

    def __call__[F: Callable[..., Any]](self, call: F, /) -> F: ...


@dataclass
class Graph:
    """An agent: nodes, edges, the state's schema and a version.

    `message_channel` names the Append channel that takes what people send into a living thread:
    each message is one item. Without it the agent takes no new input.

    `schema_version` counts the forms that the state has had; `upgrades` leads from each to the
    next. A thread that stopped with an older form continues with this code when the way is there.

    `payloads` says where large values of its threads lie: in the database, or in files, a folder
    per thread that a person can open.

    `durability` says what is kept of its threads: "durable" every step as it is done, "hot" every
    step, small ones by way of the hot store, "ephemeral" start, end and totals. A step of a hot
    agent is acknowledged as `acknowledge` says: "buffered" (default) once it is on the disk of the
    hot store, "durable" once it is in PostgreSQL, "everysec" once a hot store has it that flushes
    once a second. The state of an ephemeral one stays in memory for `ttl` (seconds or a timedelta);
    it continues with whatever code is there, and gates, effects and what else needs a record are
    refused.

    `on_failure="undo"` takes back what a thread did outside, last first, when a step of it fails;
    the thread then ends failed at the checkpoint before the first effect that was undone.

    `model` answers `ctx.model` of this agent; without it the one that GATEPOST_MODEL names does.
    `temperature` holds where a call names none. `prompts` are texts by name, for `ctx.prompt`. A
    thread keeps model, temperature and prompts as they were deployed when it started.

    `retry` holds for all that its nodes call, where the call or the tool has none of its own.
    `step_seconds` is how long a node may work in one go (default GATEPOST_STEP_SECONDS).
    `nodes_at_once` bounds how many nodes of one step work at the same time (default
    GATEPOST_NODES_AT_ONCE); 1: they take turns.

    `max_steps` bounds the steps between two things from outside (a start, a message, a decision, a
    timer, a person's click): there the thread stops for a person, who may let it take as many
    again. None: no limit.

    `secrets_allowed` lets paths hold what looks like a credential, each with its reason: "$.sample"
    of the state, "look_up:$.key" of what a call is given or returns.

    `tools` are those that stand in no module of the agent, so that they can be undone.
    `tool_texts` are docstrings by name of plain functions that a model is shown.
    `internal`: other agents start it; people are offered it last.

    `files` names prompts and data that are part of the agent's code, as globs from the folder of
    the module that makes the graph (`home`).
    """

    name: str
    state: type[State]
    version: int = 1
    label: str = ""
    description: str = ""
    schema_version: int = 1
    queue: str = "gatepost"
    on_code_change: Literal["stop", "go_on"] = "stop"
    message_channel: str = ""
    durability: Durability = "durable"
    ttl: timedelta | float | None = None
    acknowledge: Acknowledge | None = None
    payloads: Literal["database", "file"] = "database"
    on_failure: Literal["keep", "undo"] = "keep"
    upgrades: Upgrades = field(default_factory=Upgrades)
    model: Model | None = None
    temperature: float | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    retry: Retry | None = None
    step_seconds: float | None = None
    nodes_at_once: int | None = None
    max_steps: int | None = STEPS_MAX
    internal: bool = False
    files: Sequence[str] = ()
    tools: Sequence[Tool] = ()
    secrets_allowed: Mapping[str, str] = field(default_factory=dict)
    home: str = field(default="", repr=False)
    tool_texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    nodes: dict[str, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise GraphError for what cannot be: an unknown message channel or store."""
        if self.payloads not in KINDS:
            names = ", ".join(KINDS)
            raise GraphError(
                f"There is no store {self.payloads!r} for payloads; there are {names}."
            )
        check_durability(self.durability, self.ttl, self.acknowledge)
        if self.durability == EPHEMERAL:
            self.on_code_change = "go_on"  # nothing is recorded that other code could contradict
        if self.on_failure not in ("keep", "undo"):
            raise GraphError(f"on_failure={self.on_failure!r} must be 'keep' or 'undo'.")
        if self.model is not None and not callable(self.model):
            raise GraphError(
                f"model={self.model!r} is not a function: it takes a Request and answers a Reply "
                "(workers.authoring.language_models)."
            )
        check_prompts(self.temperature, self.prompts)
        check_exempt(self.secrets_allowed)
        policy_of(self.retry)
        check_limit(self.step_seconds, "step_seconds")
        number = self.nodes_at_once
        if number is not None and (type(number) is not int or not 1 <= number <= NODES_MAX):
            raise GraphError(f"nodes_at_once={number!r} must be 1 to {NODES_MAX}.")
        steps = self.max_steps
        if steps is not None and (type(steps) is not int or not 1 <= steps < 2**31):
            raise GraphError(f"max_steps={steps!r} must be a number of steps, or None.")
        if self.files and not self.home:
            # The caller of the generated __init__: the module in which the graph is written down.
            file = sys._getframe(2).f_globals.get("__file__") or "."  # noqa: SLF001 - documented
            self.home = os.path.dirname(os.path.abspath(file))
        if isinstance(self.files, str) or any(os.path.isabs(name) for name in self.files):
            raise GraphError(
                'files is a list of globs from the module\'s folder: ["prompts/*.txt"].'
            )
        if self.message_channel:
            check_message_channel(self.message_channel, self.state.model_fields, self.reducers)

    def node(
        self,
        name: str = "",
        *,
        then: Edge,
        ways: Sequence[str] = (),
        label: str = "",
        gate: bool = False,
        time_limit: float | None = None,
        on_expired: str = "",
        join: bool = True,
        durability: Literal["durable"] | None = None,
    ) -> Declare:
        """Declare a node. `then` names the next node(s), END, or is a function of the state.

        A function's possible answers are given by `ways` or by its `Literal` return type, so that
        the graph can be drawn. `gate=True` only marks the drawing. `time_limit` in seconds is this
        node's own in place of the graph's `step_seconds`. When a request of the node expires and
        the node does not catch Expired itself, it changes nothing and `on_expired` comes next.
        A node that several branches lead to waits for those under way and runs once; with
        `join=False` it runs at each arrival. With `durability="durable"` a step of it is committed
        immediately, in a hot graph as well.
        """
        check_limit(time_limit, "time_limit")

        def declare[F: Callable[..., Any]](call: F, /) -> F:
            title = name or str(getattr(call, "__name__", ""))
            if title in self.nodes:
                raise GraphError(f"There are two nodes named {title!r}.")
            check_node_durability(title, durability, self.durability)
            leads = ways_of(then, ways)
            self.nodes[title] = Node(
                title, call, then, leads, label, gate, time_limit, on_expired, join, durability
            )
            return call

        return declare

    def check(self) -> None:
        """Raise GraphError unless every way leads to a node and every channel has a reducer."""
        if not self.nodes:
            raise GraphError(f"The graph {self.name!r} has no nodes.")
        for node in self.nodes.values():
            for name in node.leads:
                if name != END and name not in self.nodes:
                    raise GraphError(f"{node.name!r} leads to {name!r}, and there is no such node.")
        _ = self.reducers, self.encrypted, self.searchable, self.durable

    @property
    def entry(self) -> tuple[str, ...]:
        """The nodes at which a thread begins."""
        return (next(iter(self.nodes)),)

    @cached_property
    def joins(self) -> Joins:
        """Which of the nodes that come next wait for others."""
        nodes = self.nodes.values()
        ways = {n.name: n.leads for n in nodes}
        return Joins(ways, self.entry, [n.name for n in nodes if not n.join])

    @cached_property
    def reducers(self) -> dict[str, Reducer]:
        """Reducer per channel; LastValue where none is named."""
        results: dict[str, Reducer] = {}
        for name, info in self.state.model_fields.items():
            named = [m for m in info.metadata if isinstance(m, Reducer)]
            if len(named) > 1:
                raise GraphError(f"Channel {name!r} names more than one reducer.")
            if len(named) == 1 and named[0].name == "append" and not holds_list(info.annotation):
                raise GraphError(
                    f"Channel {name!r} has the reducer Append: declare it as list[...]."
                )
            results[name] = named[0] if named else LastValue()
        return results

    @cached_property
    def encrypted(self) -> dict[str, Encrypted]:
        """The channels that are stored as ciphertext, with who may read them."""
        return encrypted_of(self.state.model_fields, self.reducers)

    @cached_property
    def searchable(self) -> tuple[str, ...]:
        """The channels by whose values threads are searched for."""
        return searchable_of(self.state.model_fields, self.reducers)

    @cached_property
    def durable(self) -> frozenset[str]:
        """The channels whose changes a hot agent does not buffer."""
        return durable_channels(self.state.model_fields)

    def may_buffer(self, nodes: Sequence[str], delta: Mapping[str, Any]) -> bool:
        """Say whether a step of these nodes changes nothing that is declared as durable."""
        if any(self.nodes[name].durability == DURABLE for name in nodes if name in self.nodes):
            return False
        return not self.durable or self.durable.isdisjoint(deltas.changed_channels(delta))

    @cached_property
    def _border(self) -> Border:
        return Border(self.state)

    def view(self, state: dict[str, Any]) -> State:
        """The state as a node sees it: typed, read-only, O(channels) to make."""
        seen: State = self._border.view(state)
        return seen

    def checked_update(self, update: Any, node: str) -> dict[str, Any]:
        """A node's return value as JSON, validated per channel; InvalidValue names the path."""
        return self._border.checked_update(update, node)

    def check_loaded(self, state: dict[str, Any]) -> None:
        """Let the author's types and validators judge a whole state; raises InvalidValue."""
        self._border.check_loaded(state)

    def checked_message(self, message: Any) -> Any:
        """A person's message as an item of its channel; InvalidValue names the path in it."""
        return self._border.checked_message(self.message_channel, message)

    def check_state(self, state: dict[str, Any]) -> None:
        """Run the schema's own whole-state validators where it has any; raises InvalidValue."""
        self._border.check_state(state)

    def describe_channels(self) -> dict[str, Any]:
        """The channels in the form of AgentVersion.channels."""
        fields = self.state.model_fields
        return described_channels(
            fields, self.reducers, self.encrypted, self.searchable, self.durable
        )

    def describe_schema(self) -> dict[str, Any]:
        """The state in the form of AgentVersion.schema; `x-order`, because jsonb keeps no order."""
        return {**self.state.model_json_schema(), "x-order": list(self.state.model_fields)}

    def describe_graph(self) -> dict[str, Any]:
        """The graph in the form of AgentVersion.graph, for drawing without code."""
        return {
            "entry": list(self.entry),
            "nodes": [
                {
                    "name": n.name,
                    "then": [w for w in n.leads if w != END],
                    "ends": END in n.leads,
                    "label": n.label or n.name.replace("_", " "),
                    "gate": n.gate,
                    "conditional": callable(n.then) or bool(n.on_expired),
                    **({"on_expired": n.on_expired} if n.on_expired else {}),
                    **({} if n.join else {"join": False}),
                    **({"durability": n.durability} if n.durability else {}),
                }
                for n in self.nodes.values()
            ],
            # Left out where there is none: what is described is part of the fingerprint.
            **({"inbox": self.message_channel} if self.message_channel else {}),
            **({"payloads": self.payloads} if self.payloads != DATABASE else {}),
            **described_durability(self.durability, self.ttl, self.acknowledge),
            **({"on_failure": self.on_failure} if self.on_failure != "keep" else {}),
            **({"internal": True} if self.internal else {}),
            **({"max_steps": self.max_steps} if self.max_steps != STEPS_MAX else {}),
            **({"secrets_allowed": dict(self.secrets_allowed)} if self.secrets_allowed else {}),
            **described_model(self.temperature, self.prompts),
        }
