"""Breakers: an operator or admin stops many threads at once, and releases them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from checkpoints import queries, store
from checkpoints.breakers.rule import BreakerRow
from checkpoints.limits import AGENT_MAX, TITLE_MAX
from checkpoints.queries import Progress, Touched
from dashboard.errors import Invalid, translated
from dashboard.fields.validation import REASON_MAX, check_labels, check_text
from dashboard.identity.permissions import Actor, require

NUMBER_MAX, PERCENT_MAX = 1_000_000, 99


@dataclass(frozen=True, slots=True)
class Selection:
    """Which threads a breaker stops: all of the workspace that fit each value that is given.

    The words are those of the board's filter; `q` is one text in titles and ids. A status is none
    of them: a thread is stopped whatever it does, also one that begins later.
    """

    agent: str = ""
    framework: str = ""
    q: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    parent: UUID | None = None
    root: UUID | None = None
    depth: int | None = None
    damaged: bool = False

    def stored(self) -> dict[str, Any]:
        """The values that are given, as the breaker's row and its events have them.

        `words`: the text stands at the beginning of a word, as in lists. Breakers of earlier
        versions have none, and stop what they stopped.
        """
        text = self._text()
        return {
            name: str(value) if isinstance(value, UUID) else value
            for name, value in (asdict(self) | {"q": text, "words": bool(text)}).items()
            if value is not None and value is not False and value not in ("", {})
        }

    def _text(self) -> str:
        """The text of `q` without its quotes; raises Invalid for any other query."""
        match queries.parse_query(self.q).terms:
            case ():
                return ""
            case (queries.Term(name="", values=(text,), negated=False),):
                return text
        raise Invalid(
            "$.q", "a breaker takes one text; put several words in quotes, and name agent and label"
        )

    def check(self) -> None:
        """Refuse what no thread could have; raises Invalid."""
        check_text("$.agent", self.agent, AGENT_MAX)
        check_text("$.framework", self.framework, AGENT_MAX)
        check_text("$.q", self.q, TITLE_MAX)
        self._text()
        check_labels(self.labels)
        if self.depth is not None and not 0 <= self.depth <= queries.DEPTH_MAX:
            raise Invalid("$.depth", f"must be from 0 to {queries.DEPTH_MAX}")


EVERYTHING = Selection()


@translated()
def preview_trip(actor: Actor, selection: Selection, reason: str = "") -> Touched:
    """Count what a breaker of this selection would touch now."""
    require(actor, "breaker")
    selection.check()
    check_text("$.reason", reason, REASON_MAX)
    return queries.touched(actor.workspace, selection.stored())


@translated()
def trip_breaker(actor: Actor, selection: Selection, reason: str) -> BreakerRow:
    """Stop all threads of the selection, and those that begin later, until they are released."""
    require(actor, "breaker")
    selection.check()
    check_text("$.reason", reason, REASON_MAX, required=True)
    return store.trip_breaker(
        actor.workspace, selection.stored(), reason=reason.strip(), actor=actor.id
    )


@translated()
def release_breaker(
    actor: Actor,
    breaker_id: UUID,
    reason: str,
    *,
    number: int | None = None,
    percent: int | None = None,
) -> tuple[BreakerRow, int]:
    """Let `number` stopped threads go on, or a share of them; neither: all, and close the breaker.

    Returns the breaker and how many threads go on at once.
    """
    require(actor, "breaker")
    check_text("$.reason", reason, REASON_MAX, required=True)
    if number is not None and percent is not None:
        raise Invalid("$.percent", "give a number or a share, not both")
    if number is not None and not 1 <= number <= NUMBER_MAX:
        raise Invalid("$.number", f"must be from 1 to {NUMBER_MAX:,}")
    if percent is not None and not 1 <= percent <= PERCENT_MAX:
        raise Invalid("$.percent", f"must be from 1 to {PERCENT_MAX}")
    return store.release_breaker(
        breaker_id,
        workspace=actor.workspace,
        reason=reason.strip(),
        actor=actor.id,
        number=number,
        share=None if percent is None else percent / 100,
    )


@translated()
def breakers(actor: Actor) -> list[tuple[BreakerRow, Progress]]:
    """All breakers of the workspace, open ones first; how threads stand of those that are open."""
    require(actor, "read")
    rows = queries.breakers(actor.workspace)
    some = any(row.is_open for row in rows)
    progress = queries.breaker_progress(actor.workspace) if some else {}
    return [(row, progress.get(row.id, Progress())) for row in rows]


@translated()
def breaker(actor: Actor, breaker_id: UUID) -> tuple[BreakerRow, Progress]:
    """One breaker, and how its threads stand while it is open."""
    require(actor, "read")
    row = queries.breaker(breaker_id, workspace=actor.workspace)
    progress = queries.breaker_progress(actor.workspace) if row.is_open else {}
    return row, progress.get(row.id, Progress())
