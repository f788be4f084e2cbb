"""The page that compares two checkpoints, branches or threads side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from checkpoints import queries
from checkpoints.errors import NotFound
from checkpoints.views import CheckpointRow, EventRow, ThreadRow
from dashboard.fields.parameters import SIDE
from dashboard.html import differences, lineage
from dashboard.html.comparison.changes import SHOWN, Changed, changed_values
from dashboard.html.comparison.compare import Comparison, compare
from dashboard.html.comparison.divergence import Difference
from dashboard.html.comparison.endings import Ending, ending_of
from dashboard.html.places import Places, Sides, pointer_to
from dashboard.identity.people import people
from dashboard.threads.page.forks import forks_of
from dashboard.wording.events import CHANGE

VIEWS: Final = ("changes", "sides")
CANDIDATES: Final = 20
CHANNELS = 100  # differing channels in two columns
LINES = 80  # of their values together


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel that differs: its values, where their parts stand, how many lines each may have."""

    name: str
    old: Any
    new: Any
    left: Sides
    right: Sides
    most: int


@dataclass(frozen=True, slots=True)
class Side:
    """One side: the thread, its checkpoint, the event that differs there, and the step before it.

    `address` names the checkpoint so that the page's address stays true when the thread continues.
    """

    name: str
    thread: ThreadRow
    checkpoint: CheckpointRow
    difference: Difference | None = None
    event: EventRow | None = None

    @property
    def address(self) -> str:
        """The value of ?left= or ?right= for this very checkpoint."""
        return f"{self.thread.id}:{self.checkpoint.number}"

    @property
    def at_head(self) -> bool:
        """Return whether the thread stands at this checkpoint."""
        return self.thread.head == self.checkpoint.id


def point_of(text: str, *, workspace: UUID) -> tuple[ThreadRow, CheckpointRow]:
    """The thread and checkpoint that an address names; raises NotFound."""
    match = SIDE.fullmatch(text)
    if match is None:
        raise NotFound("There is no such checkpoint.")
    thread = queries.thread(UUID(match["thread"]), workspace=workspace)
    if match["number"] is not None:
        return thread, queries.checkpoint_by_number(thread.id, int(match["number"]))
    if match["branch"] is not None:
        return thread, queries.newest_of_branch(thread.id, int(match["branch"]))
    return thread, queries.checkpoint(thread.id, UUID(match["id"]) if match["id"] else thread.head)


def candidates(workspace: UUID, left: ThreadRow | None) -> list[ThreadRow]:
    """Threads to compare: relatives of `left` where it is known, then the newest of its agent."""
    agent = left.agent if left is not None else ""
    top = queries.Selection(agent=agent, tree=queries.TreeFilter(top=True))
    recent = queries.threads(top, workspace=workspace, limit=CANDIDATES).rows
    if left is None:
        return list(recent)
    relatives = forks_of(left.id)
    if left.base is not None:
        relatives = [queries.thread(left.base, workspace=workspace), *forks_of(left.base)]
    known = {row.id: row for row in [*relatives, *recent] if row.id != left.id}
    return list(known.values())[:CANDIDATES]


@dataclass
class ComparisonPage:
    """The reads of one look at two checkpoints; `left` and `right` as in the address."""

    workspace: UUID
    left: str
    right: str
    view: str = VIEWS[0]

    @cached_property
    def points(self) -> tuple[tuple[ThreadRow, CheckpointRow], tuple[ThreadRow, CheckpointRow]]:
        """Both threads with their checkpoints."""
        one = point_of(self.left, workspace=self.workspace)
        return one, point_of(self.right, workspace=self.workspace)

    @cached_property
    def made(self) -> Comparison:
        """The comparison."""
        (_, old), (_, new) = self.points
        return compare(old, new)

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        """Left and right; a change by a person stands beside another change alone."""
        (one, old), (other, new) = self.points
        left, right = self.made.diverged.left, self.made.diverged.right
        old_event, new_event = self.made.old_event, self.made.new_event
        if left is not None and right is not None and CHANGE in {left.about, right.about}:
            if left.about != CHANGE:
                left = old_event = None
            elif right.about != CHANGE:
                right = new_event = None
        return Side("Left", one, old, left, old_event), Side("Right", other, new, right, new_event)

    @cached_property
    def ending(self) -> Ending | None:
        """The verdict on the endings of two threads; None where an older checkpoint is compared."""
        (one, old), (other, new) = self.points
        return ending_of(one, old, other, new)

    @cached_property
    def inputs(self) -> list[Changed]:
        """The values that differ where both begin: inputs, or what a fork changed."""
        made = self.made
        old, new = made.starts
        if made.common is not None and (old or new):
            shared = queries.state_at(made.common.thread, made.common.id)
            known = {name: shared[name] for name in old.keys() | new.keys() if name in shared}
            old, new = known | old, known | new
        return changed_values(old, new)

    @cached_property
    def moved(self) -> list[Changed]:
        """The other values that differ in the end; what the verdict names stands there."""
        named = [one.name for one in self.inputs]
        named += [pair.name for pair in self.ending.pairs] if self.ending else []
        return changed_values(self.made.old_state, self.made.new_state, without=named)

    @cached_property
    def lanes(self) -> dict[str, int]:
        """{side: the colour of its fork or of the branch left behind}, as on the threads' pages."""
        (one, _), (other, _) = self.points
        common = self.made.common
        colours: dict[UUID, int] = {}
        if common is not None and one.id != other.id:
            colours = lineage.colours_of_forks(forks_of(common.thread))
        return {
            side.name: colours.get(side.thread.id)
            or lineage.colour_of_branch(side.checkpoint.branch)
            for side in self.sides
            if side.thread.id in colours or side.checkpoint.abandoned
        }

    def context(self) -> dict[str, Any]:
        """The context of the template."""
        left, right = self.sides
        made = self.made
        parted = made.diverged
        events = [side.event for side in self.sides if side.event is not None]
        schema = queries.agent_version(right.thread.agent_version_id).schema
        return {
            "left": left,
            "right": right,
            "sides": self.sides,
            "lanes": self.lanes,
            "view": self.view,
            "common": made.common,
            "ending": self.ending,
            "equal": made.equal,
            "inputs": self.inputs,
            "moved": self.moved[:SHOWN],
            "moved_more": max(len(self.moved) - SHOWN, 0),
            "diverged": parted,
            "difference": left.difference or right.difference,
            # Both did the same thing with another content: what differs in it.
            "alike": left.difference is not None
            and right.difference is not None
            and left.difference.about == right.difference.about,
            "old_state": made.old_state,
            "new_state": made.new_state,
            "schema": schema,
            "channels": list(self._channels()),
            "places": Sides(
                Places(right.address, made.new_state), Places(left.address, made.old_state)
            ),
            "people": people([event.actor for event in events]),
        }

    def _channels(self) -> Iterator[Channel]:
        """The channels that differ; None where a side does not have one."""
        old, new = self.made.old_state, self.made.new_state
        names = [
            name
            for name in sorted(old.keys() | new.keys())
            if name not in old or name not in new or not differences.same(new[name], old[name])
        ]
        left, right = self.sides
        most = max(LINES // (2 * len(names) or 1), 3)
        for name in names[:CHANNELS]:
            at = pointer_to(name)
            yield Channel(
                name,
                old.get(name),
                new.get(name),
                Sides(Places(left.address, old.get(name), at)),
                Sides(Places(right.address, new.get(name), at)),
                most,
            )
