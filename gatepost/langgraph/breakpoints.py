"""Static breakpoints of a graph (`interrupt_before`, `interrupt_after`) as requests to continue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from langgraph.graph.state import CompiledStateGraph

from gatepost import Context

ALL: Final = "*"
# In the state's channel of LangGraph: which nodes have run that the thread stops after.
AFTER: Final = "stop_after"


@dataclass(frozen=True)
class Breakpoints:
    """Nodes that a thread stops before and after; "*" is every node."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @classmethod
    def of(cls, compiled: CompiledStateGraph[Any, Any, Any, Any]) -> Breakpoints:
        """Return those that the graph was compiled with."""
        both = compiled.interrupt_before_nodes, compiled.interrupt_after_nodes
        return cls(*((ALL,) if names == ALL else tuple(names) for names in both))

    def __contains__(self, node: str) -> bool:
        """Return whether the thread stops before this node."""
        return bool(_among(self.before, [node]))

    def check(self, ctx: Context, about: Mapping[str, Any], checkpoint: str) -> None:
        """Return where the superstep may begin; raises GateReached until people let it.

        As in LangGraph, one node with a breakpoint holds the whole superstep. After an edit of the
        state, which makes another checkpoint, people are asked again.
        """
        before, after = _among(self.before, about["next"]), about.get(AFTER, [])
        if not before and not after:
            return
        args = {"before": before, "after": after, "next": about["next"]}
        ctx.interrupt(
            {
                "action_request": {"action": "continue", "args": args},
                "config": {"allow_accept": True},
                "description": f"Continue with {', '.join(about['next'])}?",
            },
            key=f"breakpoint:{checkpoint}",
        )

    def passed(self, nodes: Iterable[str]) -> dict[str, Any]:
        """Return what the state keeps of the nodes that have run."""
        stops = _among(self.after, nodes)
        return {AFTER: stops} if stops else {}


def _among(names: tuple[str, ...], nodes: Iterable[str]) -> list[str]:
    return [node for node in nodes if names == (ALL,) or node in names]
