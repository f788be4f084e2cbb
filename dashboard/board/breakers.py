"""Breakers as they are read: one, all of a workspace, how their threads stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints import queries
from checkpoints.breakers.rule import BreakerRow
from checkpoints.queries import BreakerThreads
from dashboard.documents.answer_json import with_more
from dashboard.documents.state_shape import Shape
from dashboard.identity.permissions import Actor, require
from dashboard.kit.api.base import MemberView, answer, refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker(BreakerRow):
    """A breaker; `threads` is null where it is closed."""

    threads: BreakerThreads | None

    @classmethod
    def of(cls, row: BreakerRow, progress: Mapping[UUID, BreakerThreads]) -> Self:
        """A row, with how its threads stand."""
        threads = progress.get(row.id, BreakerThreads()) if row.is_open else None
        return with_more(cls, row, threads=threads)


class BreakerList(Shape):
    """Open breakers, then those that were released, the newest first."""

    results: list[Breaker]


def breakers(actor: Actor) -> list[Breaker]:
    """All breakers of the workspace, open ones first, the newest 100."""
    require(actor, "read")
    rows = queries.breakers(actor.workspace)
    some = any(row.is_open for row in rows)
    progress = queries.breaker_progress(actor.workspace) if some else {}
    return [Breaker.of(row, progress) for row in rows]


def breaker(actor: Actor, breaker_id: UUID) -> Breaker:
    """One breaker, and how its threads stand while it is open."""
    require(actor, "read")
    row = queries.breaker(breaker_id, workspace=actor.workspace)
    return Breaker.of(row, queries.breaker_progress(actor.workspace) if row.is_open else {})


class Breakers(MemberView):
    """All of the workspace, or a new one."""

    @extend_schema(
        operation_id="breakers_list",
        responses={200: BreakerList, **refusals()},
        summary="List breakers",
    )
    def get(self, request: Request) -> Response:
        """Open ones first, the newest 100."""
        return answer(BreakerList(results=breakers(self.actor)))


class OneBreaker(MemberView):
    """One of them."""

    @extend_schema(
        operation_id="breakers_retrieve",
        responses={200: Breaker, **refusals(404)},
        summary="A breaker, and how its threads stand",
    )
    def get(self, request: Request, breaker_id: UUID) -> Response:
        """Counted now."""
        return answer(breaker(self.actor, breaker_id))
