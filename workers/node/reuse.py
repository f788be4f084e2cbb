"""Results that need no call: recorded in the base of a fork or before a rollback, or cached.

A fork and a thread that was rolled back take steps that were taken before. What a pure activity
or a model answered there is the answer here, if it is asked the same thing at the same place by the
same code with the same configuration. It is recorded anew, marked `reused_from`, with the tokens
and the cost that were not spent again. Effects are never reused, nor is what a function answered
that may know more than its arguments (a closure over the state, a bound method).

The result cache (`cached=seconds`) answers across the threads of a workspace. It is no record: a
hit is recorded like a call, marked `from_cache`, and an empty cache only costs calls.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import structlog

from checkpoints.errors import InvalidValue
from checkpoints.records import Position
from checkpoints.state import deltas, marked
from checkpoints.views import ActivityRow

from ..authoring.checks import shown
from ..authoring.errors import StepFailed
from ..authoring.frozen import plain
from ..step.advice import check_seconds
from .records import Recording

if TYPE_CHECKING:
    from ..step.step import OpenStep

log = structlog.get_logger("gatepost.engine")

CACHED_BYTES = 256 * 1024
Used = Callable[[Any], tuple[Any, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Known:
    """An answer that was there without a call, and what its record says of it."""

    result: Any
    usage: dict[str, Any]


@dataclass
class Sparing:
    """Stands for one call: answers what is known already, otherwise calls.

    `looked_at` names what the function has looked at beside its arguments: "config", "thread". Its
    result belongs to that. `cached` is for how many seconds other threads may have it.
    """

    step: OpenStep
    position: Position
    kind: str
    tool: str
    args: Any
    call: Callable[[], Any]
    function: Callable[..., Any]
    cached: float | None = None
    uses: Used | None = None
    looked_at: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._alone = self.kind == "model" or self_contained(self.function)
        self._cache_key = "" if self.cached is None else self._checked_key(self.cached)

    def __call__(self) -> Any:
        """The known answer as Known, else what the call returns (a coroutine where it is one)."""
        known = self._recorded() or self._from_cache()
        if known is not None:
            return known
        returned = self.call()
        if not self._cache_key:
            return returned
        if inspect.iscoroutine(returned):
            return self._awaited(returned)
        return self._cached(returned)

    def used(self, returned: Any) -> tuple[Any, dict[str, Any]]:
        """(the result, what it took) of what came back."""
        if isinstance(returned, Known):
            return returned.result, dict(returned.usage)
        result, usage = self.uses(returned) if self.uses else (returned, {})
        if not self._alone or "thread" in self.looked_at:
            usage["knows_more"] = True
        if "config" in self.looked_at:
            usage["config"] = config_mark(self.step.config)
        return result, usage

    # ---- recorded before ---------------------------------------------------------------------

    def _recorded(self) -> Known | None:
        if not (self._alone and self.step.work.has_been_here):
            return None
        request = deltas.canonical(self.args)
        for row in self.step.elsewhere:
            if self._stands_here(row) and deltas.canonical(row.args) == request:
                return Known(
                    self.step.value_of(row.result, self.tool),
                    {"reused_from": str(row.id), **spared(row.usage)},
                )
        return None

    def _stands_here(self, row: ActivityRow) -> bool:
        position = self.position
        if (row.node, row.index, row.key) != (position.node, position.index, position.key):
            return False
        took = row.usage or {}
        return (
            row.kind == self.kind
            and row.tool == self.tool
            and not took.get("knows_more")
            and took.get("config") in (None, config_mark(self.step.config))
        )

    # ---- cached ------------------------------------------------------------------------------

    def _checked_key(self, seconds: Any) -> str:
        """The cache key of a call: workspace, code, function, input, configuration."""
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not number or not seconds > 0:
            raise StepFailed(f"cached= takes seconds above 0, not {shown(seconds)}.")
        check_seconds(seconds, "cached=")
        name = getattr(self.function, "__qualname__", "")
        if not self._alone:
            raise StepFailed(
                f"cached= takes a function that knows its arguments alone, and {self.tool!r} may "
                "know more: declare it at the top of its module."
            )
        work = self.step.work
        requests = [
            *("gatepost-result-1", str(work.workspace), str(work.agent_version), self.kind),
            *(f"{getattr(self.function, '__module__', '')}.{name}", self.args),
            plain(self.step.config),
        ]
        return hashlib.sha256(deltas.canonical(requests)).hexdigest()

    def _from_cache(self) -> Known | None:
        result = self.step.ledger.cached(self._cache_key) if self._cache_key else None
        if not isinstance(result, dict) or result.keys() != {"result", "usage"}:
            return None
        return Known(
            marked.unmark(result["result"]), {"from_cache": True, **spared(result["usage"])}
        )

    async def _awaited(self, returned: Awaitable[Any]) -> Any:
        return self._cached(await returned)

    def _cached(self, returned: Any) -> Any:
        """Give a result to the cache; one that cannot be recorded fails afterwards, not here."""
        try:
            result, usage = self.uses(returned) if self.uses else (returned, {})
            value = {"result": marked.mark(plain(result)), "usage": usage}
            deltas.check(value)
            small = len(deltas.canonical(value)) <= CACHED_BYTES
            if small and self.looked_at.isdisjoint(("thread", "scratch")):
                self.step.ledger.cache(self._cache_key, value, self.cached or 0)
        except (InvalidValue, StepFailed, TypeError, ValueError):
            log.debug("result.not_cached", tool=self.tool)
        return returned


def spared(usage: Any) -> dict[str, Any]:
    """The usage that a reused answer spared: `reused_tokens`, `reused_cost`, the model's name.

    `instead_of` stays with it: a person typed that answer in a counterfactual.
    """
    took = usage if isinstance(usage, Mapping) else {}
    tokens = took.get("tokens", took.get("reused_tokens"))
    cost = took.get("cost", took.get("reused_cost"))
    return {
        **({"instead_of": took["instead_of"]} if took.get("instead_of") else {}),
        **({"model": took["model"]} if took.get("model") else {}),
        **({"config": took["config"]} if took.get("config") else {}),
        **({"reused_tokens": tokens} if tokens else {}),
        **({"reused_cost": cost} if cost and cost != "0" else {}),
    }


def self_contained(function: Any, depth: int = 4) -> bool:
    """Answer True if a function depends on nothing of a thread but its arguments and the context.

    At the top of a module it cannot; inside a node it may hold on to the state.
    """
    function = inspect.unwrap(function)
    if inspect.isclass(function) or inspect.ismodule(getattr(function, "__self__", None)):
        return True  # a type, a function of an extension module
    if not inspect.isfunction(function):
        return False
    if "<l" not in function.__qualname__:
        return True
    if not depth or function.__defaults__ or function.__kwdefaults__:
        return False
    for cell in function.__closure__ or ():
        try:
            known = cell.cell_contents
        except ValueError:
            return False
        if isinstance(known, Recording) or inspect.ismodule(known):
            continue
        if not callable(known) or not self_contained(known, depth - 1):
            return False
    return True


def config_mark(config: Any) -> str:
    """The hash of a configuration, beside a result that depends on it."""
    return hashlib.sha256(deltas.canonical(plain(config))).hexdigest()[:16]
