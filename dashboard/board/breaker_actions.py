"""Trip and release: stop many threads, and let them continue, some first or all."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from checkpoints import queries, store
from checkpoints.limits import TITLE_MAX
from checkpoints.states import WorkspaceEventKind
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid, Missing
from dashboard.fields.thread_filters import THREADS, selection_words
from dashboard.fields.validation import check_labels
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action, Preview, Target
from dashboard.kit.filters import taking
from dashboard.kit.inputs import RequiredReason
from dashboard.kit.shapes.requests import Labels, RequestShape

from .breakers import Breaker, breaker


@taking(one for one in THREADS if one.stopped)
class Selection(RequestShape):
    """Which threads a breaker stops: all of the workspace that fit each value that is given.

    A status is none of them: a thread is stopped whatever it does, also one that begins later.
    """

    q: Annotated[str, Field(max_length=TITLE_MAX)] = Field(
        "", description="Part of a title or of an id."
    )
    labels: Labels = Field(default_factory=dict, description="Only threads with these labels.")

    def stored(self) -> dict[str, Any]:
        """The values that are given, as the breaker's row has them; raises Invalid.

        `words`: the text stands at the beginning of a word, as in lists. Breakers of earlier
        versions have none, and stop what they stopped.
        """
        check_labels(self.labels)
        values = self.model_dump(mode="json", include={*Selection.model_fields})
        match queries.parse_query(self.q).terms:
            case ():
                values["q"] = ""
            case (queries.Term(name="", values=(text,), negated=False),):
                values |= {"q": text, "words": True}
            case _:
                message = "a breaker takes one text; put several words in quotes"
                raise Invalid("$.q", f"{message}, and name agent and label")
        # Depth 0 is a value: it equals False, and is no False.
        return {k: v for k, v in values.items() if v or (v == 0 and v is not False)}


class TripBreaker(Selection):
    """Which threads are stopped: those that fit each value given. None given: the workspace."""

    reason: RequiredReason = Field(description="Why; shown on every board, kept in the log.")


class ReleaseBreaker(RequestShape):
    """All threads continue, or first some of those that could."""

    reason: RequiredReason
    number: int | None = Field(
        None, ge=1, le=1_000_000, description="How many threads continue; the breaker stays open."
    )
    percent: int | None = Field(
        None,
        ge=1,
        le=99,
        description="The percentage of threads that continue; the breaker stays open.",
    )


class BreakerPreview(Shape):
    """Unfinished threads that a breaker would touch, by status; `elsewhere`: of external agents."""

    total: int
    statuses: dict[str, int]
    elsewhere: int


class BreakerReleased(Shape):
    """The number of threads that continue immediately, and the breaker as it is now."""

    released: int
    breaker: Breaker


def preview_trip(actor: Actor, wanted: Selection) -> BreakerPreview:
    """Count what a breaker of this selection would touch now."""
    return BreakerPreview.model_validate(queries.touched(actor.workspace, wanted.stored()))


def trip(actor: Actor, wanted: TripBreaker) -> Breaker:
    """Stop all threads of the selection, and those that begin later, until they are released."""
    reason = wanted.reason.strip()
    row = store.trip_breaker(actor.workspace, wanted.stored(), reason=reason, actor=actor.id)
    return breaker(actor, row.id)


def release(actor: Actor, wanted: ReleaseBreaker, breaker_id: UUID) -> BreakerReleased:
    """Let some stopped threads continue; with neither number nor share all, and close it."""
    _, n = store.release_breaker(
        breaker_id,
        workspace=actor.workspace,
        reason=wanted.reason.strip(),
        actor=actor.id,
        number=wanted.number,
        share=None if wanted.percent is None else wanted.percent / 100,
    )
    return BreakerReleased(released=n, breaker=breaker(actor, breaker_id))


def _released(_: ReleaseBreaker, result: BreakerReleased) -> str:
    many = f"{result.released:,} thread{' continues' if result.released == 1 else 's continue'}"
    is_open = result.breaker.closed_at is None
    return f"{many}; the others stay stopped." if is_open else f"Released: {many}."


def _breaker_named(_: Actor, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Missing("There is no such breaker; `breaker list` shows them.") from None


BREAKER = Target(name="breaker", find=_breaker_named, metavar="ID")
TRIP = Action(
    name="breaker.trip",
    right="breaker",
    takes=TripBreaker,
    answers=Breaker,
    status=201,
    preview=Preview(takes=Selection, answers=BreakerPreview, look=preview_trip),
    perform=trip,
    events=(WorkspaceEventKind.BREAKER_TRIPPED,),
    summary="Stop all threads, or a selection, within 5 seconds",
    description="From the answer on nobody takes a stopped thread, and none of its effects "
    "begins. A thread at work is given back at its next boundary: the end of a call or of the "
    "step. With `?preview=1` nothing is stopped, and 200 answers what would be.",
    help="stops all threads, or a selection",
    done=lambda _, made: f"Stopped: {selection_words(made.selection)}.",
    examples='breaker trip --reason "prices are wrong" --agent payments\n'
    'breaker trip --reason "stop everything" --yes',
)
RELEASE = Action(
    name="breaker.release",
    right="breaker",
    target=BREAKER,
    takes=ReleaseBreaker,
    answers=BreakerReleased,
    alternatives=("number", "percent"),
    perform=release,
    events=(WorkspaceEventKind.BREAKER_RELEASED,),
    summary="Release all threads of a breaker, or some of them first",
    description="What a person paused stays paused. Without `number` and `percent` the "
    "breaker is closed. A part is a random sample of the threads that could continue, and a "
    "larger part contains the smaller ones before it.",
    help="lets stopped threads continue",
    done=_released,
    examples='breaker release ID --reason "try a few" --number 5\n'
    'breaker release ID --reason "prices are right"',
)
