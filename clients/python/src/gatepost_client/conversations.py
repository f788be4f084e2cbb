"""A conversation in memory: what was said, in order, for agents of any framework.

What is added in one call is one memory, or several where it is too long for one: it is there as a
whole or not at all. Its text is the JSON of the items, which agents recall by their words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import uuid4

from .current import current
from .memory_items import ITEM, list_items
from .wire import api
from .wire.errors import ClientError, NotConfigured, Refused
from .wire.flow import Flow
from .wire.settings import Settings
from .wire.transports import Blocking

T = TypeVar("T")
Row = dict[str, Any]
Perform = Callable[[Flow[Any]], Any]
SCOPES = ("agent", "person", "workspace")
ADDITION = "$addition"  # of the metadata: which part of which addition a memory is
TEXT_MAX = 100_000  # characters that a memory takes
NEWEST = "20"  # read first, where not everything is wanted
ATTEMPTS = 20  # of a removal that others are faster with
CONFLICT = 409
REMOVED = "Removed from its conversation."
CLEARED = "The conversation was cleared."


class Conversation:
    """The items of a conversation, each a value of JSON; the token needs the scope `memory`.

    `scope` and `owner` say whose memory it is in: an agent's by its name, a person's (`user:7`),
    which needs a token that may read it, or the workspace's. Without `settings` those of the
    environment. Each call raises Refused.
    """

    def __init__(
        self,
        name: str,
        *,
        scope: str = "workspace",
        owner: str = "",
        settings: Settings | None = None,
    ) -> None:
        if scope not in SCOPES:
            raise ValueError(f"A scope is one of {', '.join(SCOPES)}, not {scope!r}.")
        if bool(owner) is (scope == "workspace"):
            raise ValueError("An agent or a person owns it; nobody in the scope 'workspace'.")
        if not name:
            raise ValueError("A conversation needs a name.")
        self.name = name
        self._scope, self._owner, self._settings = scope, owner, settings
        # Dots are between the labels of a namespace.
        label = name.replace("%", "%25").replace(".", "%2E").replace("\0", "%00")
        self._namespace = f"conversations.{label}"

    def items(self, limit: int | None = None) -> list[Any]:
        """Read all items, or the newest ones; the oldest of them comes first."""
        if limit is not None and limit < 1:
            return []
        with self._connected() as perform:
            additions = self._additions(perform, limit)
        items = [item for parts in additions for row in parts for item in _items_of(row)]
        return items if limit is None else items[-limit:]

    def add(self, items: Iterable[Any]) -> None:
        """Add items after the others. Raises ValueError, before any is added, for one too long."""
        texts = list(_texts(list(items)))
        addition = uuid4().hex
        with self._connected() as perform:
            # The first part is kept last, and none is read without it.
            for part, text in reversed(list(enumerate(texts))):
                key = f"{addition}.{part}"
                address = {"namespace": self._namespace, "key": key}
                of = {"id": addition, "part": part, "parts": len(texts)}
                body: Row = {"text": text, "scope": self._scope, "owner": self._owner}
                body |= {"kind": "conversation", "metadata": {ITEM: address, ADDITION: of}}
                perform(api.remember(body | {"key": key}))
            if texts and self._scope == "person" and not self._additions(perform, 1):
                raise ClientError(
                    f"This token may write, but not read, the memory of {self._owner}."
                )

    def pop(self) -> Any:
        """Remove the newest item and return it, None where there is none; each goes once."""

        def remove() -> Any:
            additions = self._additions(perform, 1)
            if not additions:
                return None
            row = additions[-1][-1]
            *rest, newest = _items_of(row)
            self._shorten(perform, row, rest)
            return newest

        with self._connected() as perform:
            return _repeated(remove)

    def clear(self) -> None:
        """Delete all items."""

        def delete() -> None:
            for row in list(self._rows(perform)):
                perform(api.change_memory(row["id"], "forget", {"reason": CLEARED}))

        with self._connected() as perform:
            _repeated(delete)

    def _shorten(self, perform: Perform, row: Row, rest: list[Any]) -> None:
        """Leave the rest of the items in a memory that is as it was read; raises Refused."""
        if not rest:
            perform(api.change_memory(row["id"], "forget", {"reason": REMOVED}))
            return
        change = uuid4().hex
        body = {"text": _text(rest), "reason": REMOVED, "revision": row["revision"]}
        body |= {"metadata": row["metadata"] | {"$change": change}}
        try:
            perform(api.change_memory(row["id"], "correct", body))
        except Refused:
            # Sent again because its answer was lost, it is refused for what it did itself.
            if all(one["metadata"].get("$change") != change for one in self._rows(perform)):
                raise

    def _additions(self, perform: Perform, limit: int | None) -> list[list[Row]]:
        """The parts of each addition, oldest first; those with the newest items by a limit."""
        parts: dict[str, dict[int, Row]] = {}
        order: list[str] = []
        n, is_split = 0, False
        for row in self._rows(perform, NEWEST if limit else ""):
            of = row["metadata"][ADDITION]
            parts.setdefault(of["id"], {})[of["part"]] = row
            is_split = is_split or of["parts"] > 1  # its other parts may lie anywhere before
            if of["part"] == 0:
                order.append(of["id"])
                n += len(_items_of(row))
            if limit is not None and n >= limit and not is_split:
                break
        return [[row for _, row in sorted(parts[one].items())] for one in reversed(order)]

    def _rows(self, perform: Perform, limit: str = "") -> Iterator[Row]:
        """The memories of this conversation, the newest first."""
        wanted = {"namespace": self._namespace, "kind": "conversation", "limit": limit}
        for row in list_items(perform, self._scope, self._owner, wanted):
            if (
                row["metadata"][ITEM]["namespace"] == self._namespace
                and ADDITION in row["metadata"]
            ):
                yield row

    @contextmanager
    def _connected(self) -> Iterator[Perform]:
        scope = current()
        if scope is not None and not scope.part:
            raise NotConfigured(
                "A conversation in memory is not recorded in the thread: call it in a function "
                "with @step, or outside of @agent."
            )
        chosen = self._settings or Settings.from_environment()
        with Blocking(chosen.url, chosen.headers) as transport:
            yield transport.perform


def _repeated(change: Callable[[], T]) -> T:
    """Make a change anew where somebody else was faster with what it read; raises Refused."""
    attempts = 0
    while True:
        attempts += 1
        try:
            return change()
        except Refused as error:
            if error.status != CONFLICT or attempts == ATTEMPTS:
                raise


def _texts(items: Sequence[Any]) -> Iterator[str]:
    """The texts of the memories that hold these items, in order; raises ValueError."""
    some: list[Any] = []
    size = 2
    for n, item in enumerate(items):
        length = len(_text([item]))
        if length > TEXT_MAX:
            raise ValueError(
                f"Item {n} has {length:,} characters as JSON; a memory takes {TEXT_MAX:,}."
            )
        if some and size + length > TEXT_MAX:
            yield _text(some)
            some, size = [], 2
        some.append(item)
        size += length
    if some:
        yield _text(some)


def _text(items: list[Any]) -> str:
    text = json.dumps(items, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair: only its escape can be sent
        return json.dumps(items)
    return text


def _items_of(row: Row) -> list[Any]:
    try:
        items = json.loads(row["text"])
    except ValueError:
        items = None
    if not isinstance(items, list) or not items:
        raise ClientError(
            f"The memory {row['id']} is no longer a JSON list of items: correct or delete it."
        )
    return items
