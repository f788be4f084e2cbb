"""Breakers: many threads stopped at once, and released again."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field, RootModel
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints import queries
from checkpoints.breakers.rule import BreakerRow
from checkpoints.limits import AGENT_MAX, TITLE_MAX
from checkpoints.queries import Progress, Touched
from dashboard import actions
from dashboard.actions.fleet import breakers
from dashboard.actions.fleet.breakers import NUMBER_MAX, PERCENT_MAX, Selection
from dashboard.api.protocol.base import PREVIEW, MemberView, answer, refusals
from dashboard.api.shapes.requests import Labels, RequestShape
from dashboard.api.shapes.texts import Id, NotBlank
from dashboard.documents.state_shape import Shape
from dashboard.fields.validation import REASON_MAX


class BreakerThreads(Shape):
    """Threads of an open breaker by what becomes of them.

    `stopped`: queued until the release. `at_work`: their workers end what they are doing. `waits`:
    for something else; they stop when that comes. `released` by status, since the newest release.
    """

    stopped: int
    at_work: int
    waits: int
    released: dict[str, int]


class Breaker(Shape):
    """A breaker; `threads` is null where it is closed."""

    id: UUID
    selection: dict[str, Any]
    reason: str
    opened_by: str
    opened_at: datetime
    releases: int
    released_by: str
    released_at: datetime | None
    closed_at: datetime | None
    threads: BreakerThreads | None

    @classmethod
    def of(cls, row: BreakerRow, progress: Progress) -> Self:
        """The row for the wire."""
        threads = BreakerThreads(
            stopped=progress.stopped,
            at_work=progress.at_work,
            waits=progress.waits,
            released={str(status): n for status, n in progress.released.items()},
        )
        return cls(
            id=row.id,
            selection=dict(row.selection),
            reason=row.reason,
            opened_by=row.opened_by,
            opened_at=row.opened_at,
            releases=row.releases,
            released_by=row.released_by,
            released_at=row.released_at,
            closed_at=row.closed_at,
            threads=threads if row.is_open else None,
        )


class BreakerList(Shape):
    """Open breakers, then those that were released, the newest first."""

    results: list[Breaker]


class BreakerPreview(Shape):
    """Unfinished threads that a breaker would touch, by status; `elsewhere`: of external agents."""

    total: int
    statuses: dict[str, int]
    elsewhere: int

    @classmethod
    def of(cls, touched: Touched) -> Self:
        """The counts for the wire."""
        return cls(
            total=touched.total,
            statuses={str(status): n for status, n in touched.statuses.items()},
            elsewhere=touched.elsewhere,
        )


class BreakerAnswer(RootModel[Breaker | BreakerPreview]):
    """The breaker; with `?preview=1` what it would touch."""


class TripBreaker(RequestShape):
    """Which threads are stopped: those that fit each value given. None given: the workspace."""

    reason: Annotated[str, NotBlank(REASON_MAX)]
    agent: Annotated[str, Field(max_length=AGENT_MAX)] = ""
    framework: Annotated[str, Field(max_length=AGENT_MAX)] = ""
    q: Annotated[str, Field(max_length=TITLE_MAX)] = Field(
        "", description="Part of a title or of an id."
    )
    labels: Labels = Field(default_factory=dict)
    parent: Id | None = Field(None, description="Only children of this thread.")
    root: Id | None = Field(None, description="Only the family tree of this thread.")
    depth: int | None = Field(None, ge=0, le=queries.DEPTH_MAX)
    damaged: bool = Field(False, description="Only threads with a damaged record.")

    def selection(self) -> Selection:
        """The same as the action takes it."""
        return Selection(**self.model_dump(exclude={"reason"}))


class ReleaseBreaker(RequestShape):
    """All threads go on, or first some of those that could."""

    reason: Annotated[str, NotBlank(REASON_MAX)]
    number: int | None = Field(
        None, ge=1, le=NUMBER_MAX, description="How many threads continue; the breaker stays open."
    )
    percent: int | None = Field(
        None,
        ge=1,
        le=PERCENT_MAX,
        description="The percentage of threads that continue; the breaker stays open.",
    )


class BreakerReleased(Shape):
    """The number of threads that go on at once, and the breaker as it is now."""

    released: int
    breaker: Breaker


class Breakers(MemberView):
    """All of the workspace, or a new one."""

    changes = "breaker"
    previews: ClassVar[bool] = True

    @extend_schema(
        operation_id="breakers_list",
        responses={200: BreakerList, **refusals()},
        summary="List breakers",
    )
    def get(self, request: Request) -> Response:
        """Open ones first, the newest 100."""
        rows = breakers.breakers(self.actor)
        return answer(BreakerList(results=[Breaker.of(*row) for row in rows]))

    @extend_schema(
        operation_id="breakers_trip",
        request=TripBreaker,
        parameters=[PREVIEW],
        responses={201: Breaker, 200: BreakerPreview, **refusals(422)},
        summary="Stop all threads, or a selection, within 5 seconds",
        description="From the answer on nobody takes a stopped thread, and none of its effects "
        "begins. A thread at work is given back at its next boundary: the end of a call or of the "
        "step. With `?preview=1` nothing is stopped, and 200 answers what would be.",
    )
    def post(self, request: Request) -> Response:
        """201 with the breaker."""
        body = self.body(TripBreaker)
        if self.flag("preview"):
            touched = actions.preview_trip(self.actor, body.selection(), body.reason)
            return answer(BreakerPreview.of(touched))
        row = actions.trip_breaker(self.actor, body.selection(), body.reason)
        made = Breaker.of(*breakers.breaker(self.actor, row.id))
        return answer(made, status=201)


class OneBreaker(MemberView):
    """One of them."""

    @extend_schema(
        operation_id="breakers_retrieve",
        responses={200: Breaker, **refusals(404)},
        summary="A breaker, and how its threads stand",
    )
    def get(self, request: Request, breaker_id: UUID) -> Response:
        """Counted now."""
        return answer(Breaker.of(*breakers.breaker(self.actor, breaker_id)))


class ReleaseOneBreaker(MemberView):
    """Threads go on."""

    changes = "breaker"

    @extend_schema(
        operation_id="breakers_release",
        request=ReleaseBreaker,
        responses={200: BreakerReleased, **refusals(404, 409, 422)},
        summary="Release all threads of a breaker, or some of them first",
        description="What a person paused stays paused. Without `number` and `percent` the "
        "breaker is closed. A part is a random sample of the threads that could continue, and a "
        "larger part contains the smaller ones before it.",
    )
    def post(self, request: Request, breaker_id: UUID) -> Response:
        """200 with how many go on."""
        body = self.body(ReleaseBreaker)
        row, n = actions.release_breaker(
            self.actor, breaker_id, body.reason, number=body.number, percent=body.percent
        )
        now = Breaker.of(*breakers.breaker(self.actor, row.id))
        return answer(BreakerReleased(released=n, breaker=now))
