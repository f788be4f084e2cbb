"""Requests for erasure as they are read: one, all of a workspace."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from checkpoints.queries.erasures import requests
from checkpoints.queries.erasures.requests import ErasureRow
from dashboard.documents.state_shape import Shape
from dashboard.errors import translated
from dashboard.identity.permissions import Actor, require
from dashboard.kit.resource import reading


class Erasure(Shape):
    """A request for erasure; `rule` is the retention rule that made it.

    `requested`: a second person is awaited. `approved`: its threads are closed and are being
    erased. `done`: content, salts and files are gone. `refused`.
    """

    id: UUID
    thread: UUID
    scope: Literal["thread", "family"]
    n_threads: int
    reason: str
    rule: UUID | None
    state: Literal["requested", "approved", "done", "refused"]
    requested_by: str
    requested_by_name: str
    requested_at: datetime
    decided_by: str
    decided_by_name: str
    decided_at: datetime | None
    comment: str
    finished_at: datetime | None
    n_rows: int
    n_bytes: int
    n_files: int


class ErasureList(Shape):
    """Requests that wait, then the newest of the others; at most 200."""

    results: list[Erasure]


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
    return ErasureList(results=[Erasure.model_validate(row) for row in erasures(actor)])


def one_erasure(actor: Actor, erasure_id: UUID) -> Erasure:
    """One of them for the wire."""
    return Erasure.model_validate(erasure(actor, erasure_id))


ERASURES: Final = reading(
    "erasures_list",
    ErasureList,
    list_erasures,
    summary="List requests for erasure",
    description="Those that wait first.",
)
ONE_ERASURE: Final = reading(
    "erasures_retrieve",
    Erasure,
    one_erasure,
    summary="A request for erasure, and how far it is",
    description="As it is now.",
    refused=(404,),
)
