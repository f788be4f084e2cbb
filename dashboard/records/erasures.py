"""Requests for erasure as they are read: one, all of a workspace."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from checkpoints.queries.erasures import requests
from checkpoints.queries.erasures.requests import ErasureRow
from dashboard.documents.state_shape import Shape
from dashboard.errors import translated
from dashboard.identity.permissions import Actor, require
from dashboard.kit.resource import reading


class ErasureList(Shape):
    """Requests that wait, then the newest of the others; at most 200."""

    results: list[ErasureRow]


@translated()
def erasures(actor: Actor) -> list[ErasureRow]:
    """All requests of the workspace for erasure: those that wait first, then the newest."""
    require(actor, "read")
    return requests.erasures(actor.workspace)


@translated()
def erasure(actor: Actor, erasure_id: UUID) -> ErasureRow:
    """One of them; raises Missing."""
    require(actor, "read")
    return requests.erasure(erasure_id, workspace=actor.workspace)


def list_erasures(actor: Actor) -> ErasureList:
    """The same for the wire."""
    return ErasureList(results=erasures(actor))


ERASURES: Final = reading(
    "erasures_list",
    ErasureList,
    list_erasures,
    summary="List requests for erasure",
    description="Those that wait first.",
)
ONE_ERASURE: Final = reading(
    "erasures_retrieve",
    ErasureRow,
    erasure,
    summary="A request for erasure, and how far it is",
    description="As it is now.",
    refused=(404,),
)
