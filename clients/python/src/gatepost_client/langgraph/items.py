"""LangGraph's BaseStore on memory: what its namespaces, keys and values are there.

An item is a memory: its text is the value as JSON, its metadata name the place. The first label of
a namespace decides whose memory an item is in.
"""

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import ge, gt, le, lt
from typing import Any, Final, Literal, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from .serializer import JsonSerializer

Scope = Literal["thread", "agent", "person", "workspace"]
SCOPES: Final = ("thread", "agent", "person", "workspace")
_ORDERS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "$gt": gt,
    "$gte": ge,
    "$lt": lt,
    "$lte": le,
}


@dataclass(frozen=True)
class StoredItem:
    """A memory that is an item; `namespace` has its labels with dots between them."""

    namespace: str
    key: str
    scope: str
    text: str
    created_at: datetime
    updated_at: datetime


class ItemStore(BaseStore):
    """Reads and writes the items of a store; a subclass says how memory is reached.

    `scope` says whose memory items are in: of the thread, its agent, a person or the workspace.
    `scopes` says so for namespaces by their first label. `types` are classes of yours that may
    stand in a value.
    """

    def __init__(
        self,
        *,
        scope: Scope,
        scopes: Mapping[str, Scope] | None = None,
        types: Iterable[type] = (),
    ) -> None:
        self._scope: Scope = scope
        self._scopes: dict[str, Scope] = dict(scopes or {})
        self._serde = JsonSerializer(types)
        for one in (scope, *self._scopes.values()):
            if one not in SCOPES:
                raise ValueError(f"A scope is one of {', '.join(SCOPES)}, not {one!r}.")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer the reads, then write; of several puts at one place the last counts."""
        wanted = list(ops)
        for op in wanted:
            _check_labels(op)
        results = [None if isinstance(op, PutOp) else self._answer(op) for op in wanted]
        puts = {(op.namespace, op.key): op for op in wanted if isinstance(op, PutOp)}
        for op in puts.values():
            self._write(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do as `batch`, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    # ---- how memory is reached -------------------------------------------------------------------

    @abstractmethod
    def _get(self, namespace: str, key: str, scope: Scope) -> StoredItem | None:
        """Return the item at a place."""

    @abstractmethod
    def _find(
        self,
        below: str,
        scopes: Sequence[Scope],
        takes: Callable[[StoredItem], bool],
        op: SearchOp,
    ) -> list[StoredItem]:
        """Return the page of an operation, of the items that `takes` takes."""

    @abstractmethod
    def _namespaces(self, scopes: Sequence[Scope]) -> Iterable[tuple[str, str]]:
        """Return (scope, namespace) of those that have items."""

    @abstractmethod
    def _put(self, namespace: str, key: str, scope: Scope, text: str) -> None:
        """Put an item."""

    @abstractmethod
    def _delete(self, namespace: str, key: str, scope: Scope) -> None:
        """Delete an item, if it is there."""

    # ---- operations ------------------------------------------------------------------------------

    def _answer(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            one = self._get(".".join(op.namespace), op.key, self._scope_of(op.namespace))
            return None if one is None else Item(**self._parts(one))
        if isinstance(op, SearchOp):
            rows = self._find(".".join(op.namespace_prefix), self._reach(op), self._takes(op), op)
            return [SearchItem(**self._parts(one)) for one in rows]
        if isinstance(op, ListNamespacesOp):
            return self._listed(op)
        raise ValueError(f"Unknown operation: {type(op).__name__}")

    def _write(self, op: PutOp) -> None:
        namespace, scope = ".".join(op.namespace), self._scope_of(op.namespace)
        if op.ttl is not None:
            raise NotImplementedError("Items stay until they are deleted: no ttl is kept here.")
        if op.value is None:
            self._delete(namespace, op.key, scope)
            return
        value = self._serde.encode(dict(op.value), "$.value")
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, sort_keys=True)
        self._put(namespace, op.key, scope, text)

    def _listed(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        names: set[tuple[str, ...]] = set()
        for scope, text in self._namespaces(self._all_scopes()):
            labels = tuple(text.split("."))
            conditions = op.match_conditions or ()
            if scope == self._scope_of(labels) and all(_matches(one, labels) for one in conditions):
                names.add(labels[: op.max_depth])
        return sorted(names)[op.offset : op.offset + op.limit]

    def _takes(self, op: SearchOp) -> Callable[[StoredItem], bool]:
        def takes(one: StoredItem) -> bool:
            if one.scope != self._scope_of(one.namespace.split(".")):
                return False
            return not op.filter or _fits(self._value(one), op.filter)

        return takes

    def _scope_of(self, namespace: Sequence[str]) -> Scope:
        return self._scopes.get(namespace[0], self._scope) if namespace else self._scope

    def _reach(self, op: SearchOp) -> list[Scope]:
        below = op.namespace_prefix
        return [self._scope_of(below)] if below else self._all_scopes()

    def _all_scopes(self) -> list[Scope]:
        return sorted({self._scope, *self._scopes.values()})

    def _parts(self, one: StoredItem) -> dict[str, Any]:
        return {
            "namespace": tuple(one.namespace.split(".")),
            "key": one.key,
            "value": self._value(one),
            "created_at": one.created_at,
            "updated_at": one.updated_at,
        }

    def _value(self, one: StoredItem) -> dict[str, Any]:
        """The value of an item; a text that a person wrote in its place is its member `text`."""
        try:
            value = json.loads(one.text)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            return {"text": one.text}
        return cast("dict[str, Any]", self._serde.decode(value))


def _check_labels(op: Op) -> None:
    """Raise InvalidNamespaceError for labels that the dots between labels would make another."""
    if isinstance(op, ListNamespacesOp):
        paths = [condition.path for condition in op.match_conditions or ()]
    else:
        paths = [op.namespace_prefix if isinstance(op, SearchOp) else op.namespace]
    for label in (label for path in paths for label in path):
        if not isinstance(label, str) or not label or "." in label or "\0" in label:
            raise InvalidNamespaceError(
                f"A label of a namespace is a text without a dot, not {label!r}."
            )
    if isinstance(op, PutOp) and not op.namespace:
        raise InvalidNamespaceError("A namespace has at least one label.")


def _matches(condition: MatchCondition, labels: Sequence[str]) -> bool:
    """Return whether labels begin or end with a path, whose `*` is any label."""
    path = condition.path
    if len(labels) < len(path):
        return False
    part = labels[: len(path)] if condition.match_type == "prefix" else labels[-len(path) or None :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=False))


def _fits(value: Any, wanted: Any) -> bool:
    """Return whether a value is as a filter wants it: equal, or as its operators say."""
    if not isinstance(wanted, Mapping):
        return bool(value == (list(wanted) if isinstance(wanted, tuple) else wanted))
    if any(name.startswith("$") for name in wanted):
        return all(_holds(value, name, other) for name, other in wanted.items())
    if not isinstance(value, Mapping):
        return False
    return all(_fits(value.get(name), other) for name, other in wanted.items())


def _holds(value: Any, name: str, other: Any) -> bool:
    if name in ("$eq", "$ne"):
        return bool((value == other) is (name == "$eq"))
    if name not in _ORDERS:
        raise ValueError(f"Unknown operator of a filter: {name}")
    try:
        return bool(_ORDERS[name](value, other))
    except TypeError:  # nothing is larger than what is not there
        return False
