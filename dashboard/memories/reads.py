"""Memories as they are read: a list or a search, and one with its former texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints import queries
from checkpoints.errors import InvalidValue
from checkpoints.memories import FormerText, MemoryRow
from checkpoints.queries import MemorySelection
from dashboard.documents.answer_json import with_more
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid, translated
from dashboard.fields.filters import CALL, given_at, read
from dashboard.identity.memory_viewers import viewer_of
from dashboard.identity.permissions import Actor, require
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.parameters import LIMIT_MAX, ident, rows
from dashboard.kit.filters import call_parameters
from workers.language.nearest_memories import nearest

from .filters import MEMORIES, SEARCH

FILTERS: Final = given_at((SEARCH, *MEMORIES), CALL)
LIMIT: Final = rows(LIMIT_MAX)
FOUND_MAX: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDetail(MemoryRow):
    """A memory, and the texts that it had before it was corrected."""

    former: Annotated[list[FormerText], Field(description="The newest first.")]


class MemoryList(Shape):
    """Memories, the newest first; of a search the best first. `next_cursor` is null at the end."""

    results: list[MemoryRow]
    next_cursor: UUID | None
    words_alone: Annotated[
        str | None,
        Field(description="Why a search found words and not meaning, where it should have."),
    ] = None


@translated()
def list_memories(
    actor: Actor,
    chosen: Mapping[str, Any],
    *,
    after: UUID | None = None,
    limit: int = FOUND_MAX,
) -> MemoryList:
    """Memories of the workspace that the person may see; `chosen` are values of the filters."""
    require(actor, "read")
    values = dict(chosen)
    words, where = values.pop("q", ""), MemorySelection(**values)
    seen: dict[str, Any] = {"workspace": actor.workspace, "viewer": viewer_of(actor)}
    if words:
        if after is not None:
            raise Invalid("cursor", "is not for a search by words, which has one page")
        near = nearest(words, workspace=actor.workspace)
        seen |= {"limit": min(limit, FOUND_MAX), "near": near.refs}
        best = queries.search_memories(words, where, **seen)
        return MemoryList(results=best, next_cursor=None, words_alone=near.why or None)
    try:
        rows_read = queries.memories(where, after=after, limit=limit + 1, **seen)
    except InvalidValue as error:
        # The name of a parameter, not a path within a body.
        raise Invalid(error.path, error.reason) from error
    last = rows_read[limit - 1].id if len(rows_read) > limit else None
    return MemoryList(results=rows_read[:limit], next_cursor=last)


@translated()
def one_memory(actor: Actor, memory_id: UUID) -> MemoryDetail:
    """A memory that the person may see, also one that is gone."""
    require(actor, "read")
    row = seen_memory(actor, memory_id)
    return with_more(MemoryDetail, row, former=queries.former_texts(memory_id))


def seen_memory(actor: Actor, memory_id: UUID) -> MemoryRow:
    """The row of a memory that the person may see; raises NotFound."""
    return queries.memory(memory_id, workspace=actor.workspace, viewer=viewer_of(actor))


class Memories(MemberView):
    """All of the workspace that the caller may see."""

    @extend_schema(
        operation_id="memories_list",
        responses={200: MemoryList, **refusals(422)},
        parameters=[
            *call_parameters((SEARCH, *MEMORIES)),
            ident("cursor", "`next_cursor` of the page before; not with `q`."),
            LIMIT,
        ],
        summary="List or search memories",
    )
    def get(self, request: Request) -> Response:
        """The newest first; with `q` the best matches, on one page."""
        values = read(FILTERS, {one.name: self.text(one.name) for one in FILTERS})
        cursor = self.text("cursor")
        after = UUID(cursor) if cursor else None
        limit = self.limit(LIMIT)
        return answer(list_memories(self.actor, values, after=after, limit=limit))


class OneMemory(MemberView):
    """One of them."""

    @extend_schema(
        operation_id="memories_retrieve",
        responses={200: MemoryDetail, **refusals(404)},
        summary="A memory with its former texts",
    )
    def get(self, request: Request, memory_id: UUID) -> Response:
        """Also one that is gone: without its text, with the reason."""
        return answer(one_memory(self.actor, memory_id))
