"""Endpoints as the API takes and answers them; a secret is answered by the call that made it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import Field

from approvals.notify.endpoints import OVERLAP_MAX, OVERLAP_SECONDS, Wanted
from approvals.notify.queries import EndpointRow
from approvals.notify.texts.kinds import (
    ADDRESS_MAX,
    DIGEST_MAX,
    KINDS,
    NAME_MAX,
    NEWS,
    PERSON_MAX,
    PLACES_MAX,
)
from dashboard.documents.state_shape import Shape

from .requests import RequestShape
from .texts import NotBlank, OneOf

Names = Annotated[list[Annotated[str, NotBlank(PERSON_MAX)]], Field(max_length=PLACES_MAX)]


class ChangeEndpoint(RequestShape):
    """Other values of an endpoint; what is left out stays."""

    name: Annotated[str, NotBlank(NAME_MAX)] | None = None
    target: Annotated[str, Field(max_length=ADDRESS_MAX)] | None = Field(
        None,
        description="Mail: an address, or empty for the people who may decide. A chat: an address "
        "of apprise. A webhook: https://...",
    )
    events: Annotated[list[Annotated[str, OneOf(NEWS)]], Field(min_length=1)] | None = None
    digest: int | None = Field(
        None,
        ge=0,
        le=DIGEST_MAX,
        description="Minutes in which a person gets only a few messages; 0: no digest.",
    )
    people: Names | None = Field(None, description="User names; only these get the mail.")
    teams: Names | None = Field(None, description="Names of teams; only these get the mail.")

    def wanted(self) -> Wanted:
        """For the floor below."""
        return Wanted(**{name: getattr(self, name) for name in ChangeEndpoint.model_fields})


class MakeEndpoint(ChangeEndpoint):
    """A new endpoint."""

    kind: Annotated[str, OneOf(KINDS)]
    name: Annotated[str, NotBlank(NAME_MAX)]


class RotateEndpoint(RequestShape):
    """A new secret."""

    overlap: int = Field(
        int(OVERLAP_SECONDS),
        ge=0,
        le=int(OVERLAP_MAX),
        description="Seconds for which the former secret signs as well.",
    )


class SwitchEndpoint(RequestShape):
    """On or off."""

    active: bool


class SecretKept(Shape):
    """That there is a secret, not which."""

    since: datetime
    until: datetime | None


class Endpoint(Shape):
    """An endpoint; `target` is as much of its address as may be shown."""

    id: UUID
    kind: str
    name: str
    target: str
    events: list[str]
    digest: int
    people: list[str]
    teams: list[str]
    active: bool
    made_by: str
    created_at: datetime
    secrets: list[SecretKept]
    open: int
    late: int
    failed: int
    last_done_at: datetime | None
    last_error: str
    refusal: str = Field(
        description="Why today's settings refuse its address; empty where it is called."
    )

    @classmethod
    def from_row(cls, row: EndpointRow) -> Self:
        return cls.model_validate(row)


class EndpointMade(Endpoint):
    """A new endpoint or a new secret: `secret` is shown here and never again."""

    secret: str = ""

    @classmethod
    def with_secret(cls, row: EndpointRow, secret: str) -> Self:
        return cls(**Endpoint.from_row(row).model_dump(), secret=secret)


class EndpointList(Shape):
    """The endpoints of the workspace by name."""

    results: list[Endpoint]


class Delivery(Shape):
    """One news for one recipient; `state` is open, done, skipped or failed."""

    id: UUID
    news: UUID
    kind: str
    recipient: str
    state: str
    attempts: int
    code: int | None
    error: str
    skipped: str
    created_at: datetime
    next_at: datetime
    done_at: datetime | None
    failed_at: datetime | None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls.model_validate(row)


class EndpointDetail(Endpoint):
    """An endpoint and what it was last told, newest first."""

    deliveries: list[Delivery]
