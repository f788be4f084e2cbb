"""A part of a state or of an event's data by its address, alone or beside another checkpoint's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from django.utils.safestring import SafeString

from checkpoints import queries
from checkpoints.errors import NotFound
from checkpoints.state.list_keys import Part
from checkpoints.views import CheckpointRow, EventRow, ThreadRow
from dashboard.documents.state_reads import Read, read
from dashboard.fields.parameters import EVENT
from dashboard.html import trees
from dashboard.html.differences import container
from dashboard.html.list_pairs import MISSING
from dashboard.html.places import Places, Sides, name_of, parents, part_at, value_address
from dashboard.threads.page.comparison import point_of

LINES: Final = 350  # on a page of its own
SHOWN: Final = 40_000  # characters of a string on a page of its own


def point(checkpoint: CheckpointRow) -> str:
    """A checkpoint as addresses name it: THREAD:NUMBER."""
    return f"{checkpoint.thread}:{checkpoint.number}"


def sides_of(
    new: str,
    state: Any,
    old: str = "",
    before: Any = None,
    notes: Mapping[str, SafeString] = {},
) -> Sides:
    """Addresses of the parts of a state, and of an old one; checkpoints as in addresses."""
    return Sides(Places(new, state), Places(old, before) if old else None, notes)


def event_sides(event: EventRow) -> Sides:
    """Addresses of the parts of an event's data."""
    return Sides(Places(f"{event.thread}:event-{event.seq}", event.data))


@dataclass
class ValuePage:
    """The reads of one look at a part; `of` and `against` name checkpoints, or an event.

    `at` and `was` are JSON Pointers into them, `start` the first line or character that is shown.
    """

    workspace: UUID
    of: str
    at: str = ""
    against: str = ""
    was: str = ""
    start: int = 0

    @cached_property
    def event(self) -> EventRow | None:
        """The event whose data are shown; None where it is a state."""
        match = EVENT.fullmatch(self.of)
        if match is None:
            return None
        thread = queries.thread(UUID(match["thread"]), workspace=self.workspace)
        rows = queries.events_after(thread.id, int(match["seq"]) - 1, limit=1)
        if not rows or rows[0].seq != int(match["seq"]):
            raise NotFound("There is no such event.")
        return rows[0]

    @cached_property
    def new(self) -> tuple[ThreadRow, CheckpointRow]:
        """The thread and checkpoint."""
        return point_of(self.of, workspace=self.workspace)

    @cached_property
    def old(self) -> tuple[ThreadRow, CheckpointRow] | None:
        """Those that it is compared with."""
        return point_of(self.against, workspace=self.workspace) if self.against else None

    @cached_property
    def state(self) -> Read:
        """The state, or the data of the event."""
        if self.event is not None:
            return Read(self.event.data or {})
        thread, checkpoint = self.new
        version = queries.agent_version(thread.agent_version_id)
        return read(checkpoint.thread, checkpoint.id, version)

    @cached_property
    def former(self) -> Read | None:
        """The state that it is compared with."""
        if self.old is None or self.event is not None:
            return None
        thread, checkpoint = self.old
        version = queries.agent_version(thread.agent_version_id)
        return read(checkpoint.thread, checkpoint.id, version)

    @property
    def address(self) -> str:
        """The address of this very part."""
        was = self.was or (self.at if self.against else "")
        return value_address(self.of, self.at, self.against, was, self.start)

    def context(self) -> dict[str, Any]:
        """The context of the template; `part` is what stands in the place of a link."""
        unread = self.state.unread or (self.former and self.former.unread)
        names = parents(self.at)
        shown: dict[str, Any] = {
            "event": self.event,
            "thread": None if self.event else self.new[0],
            "checkpoint": None if self.event else self.new[1],
            "other": self.old if self.former else None,
            "name": name_of(self.at),
            "trail": [(name, value_address(self.of, at)) for name, at in names],
            "unread": unread,
            "start": self.start,
        }
        if unread:
            return shown
        value = _part(self.state.state, self.at)
        before = _part(self.former.state, self.was or self.at) if self.former else MISSING
        old_at = Places(self.against, before, self.was or self.at) if self.former else None
        sides = Sides(Places(self.of, value, self.at), old_at)
        schema = self._schema()
        part = trees.fragment(
            name_of(self.at),
            value,
            before,
            sides=sides,
            address=self.address,
            depth=max(len(names) - 1, 0),
            start=self.start,
            schema=schema,
        )
        if not container(value):
            raw = value if isinstance(value, str) else None
            end = self.start + SHOWN
            rest = value_address(self.of, self.at, start=end) if raw and len(raw) > end else ""
            text = None if raw is None else raw[self.start : end]
            return shown | {"part": part, "text": text, "scalar": value, "rest": rest}
        tree = trees.render(
            value, before, unfold=2, schema=schema, sides=sides, start=self.start, most=LINES
        )
        return shown | {"part": part, "tree": tree}

    def _schema(self) -> Part:
        if self.event is not None:
            return Part.of(None)
        result = Part.of(queries.agent_version(self.new[0].agent_version_id).schema)
        for name, _ in parents(self.at):
            result = result.under(name)
        return result


def _part(state: Any, pointer: str) -> Any:
    try:
        return part_at(state, pointer)
    except (LookupError, ValueError):
        raise NotFound("There is no such part at this checkpoint.") from None
