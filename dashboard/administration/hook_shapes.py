"""Inbound hooks as the API takes and answers them; only the call that makes a secret shows it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, Self
from uuid import UUID

from pydantic import Field

from approvals.hooks import changes as hooks
from approvals.hooks.changes import HookRow, IdentityRow
from approvals.notify.texts.kinds import PERSON_MAX
from dashboard.administration.hooks import ADDRESS, KEEP_MAX
from dashboard.documents.state_shape import Shape
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import NotBlank

NAME: Final = f"^{hooks.NAME.pattern}$"
Word = Annotated[
    str,
    NotBlank(hooks.IDENTITY_MAX),
    Field(description="The sender's name for a person, such as U024BE7LH."),
]


class MakeHook(RequestShape):
    """A new hook."""

    name: Annotated[str, Field(pattern=NAME, max_length=40, description="a-z, 0-9 and -.")]


class RotateHook(RequestShape):
    """A new secret."""

    keep: int = Field(
        int(hooks.KEEP_SECONDS),
        ge=0,
        le=int(KEEP_MAX.total_seconds()),
        description="Seconds for which the former secrets hold; 0: they end immediately.",
    )


class SwitchHook(RequestShape):
    """On or off."""

    active: bool


class MapIdentity(RequestShape):
    """Whom a hook's word for a person stands for."""

    identity: Word
    user: Annotated[str, NotBlank(PERSON_MAX)] = Field(
        description="The user name of a member: the hook decides as this person."
    )


class UnmapIdentity(RequestShape):
    """A word that no longer stands for anybody."""

    identity: Word


class Hook(Shape):
    """A hook without its secrets: `secrets` is how many of them hold now.

    `address` is the path that its sender posts decisions to.
    """

    id: UUID
    name: str
    active: bool
    address: str
    secrets: int
    made_by: str
    created_at: datetime
    rotated_at: datetime | None
    refused_at: datetime | None
    refused: int

    @classmethod
    def of(cls, row: HookRow) -> Self:
        """The row for the wire."""
        names = cls.model_fields.keys() - {"address", "secret", "identities"}
        return cls(address=ADDRESS.format(row.id), **{name: getattr(row, name) for name in names})


class HookMade(Hook):
    """A new hook or a new secret: `secret` is shown here and never again."""

    secret: str = ""

    @classmethod
    def with_secret(cls, row: HookRow, secret: str) -> Self:
        """The row for the wire, and its secret."""
        return cls(**Hook.of(row).model_dump(), secret=secret)


class HookList(Shape):
    """The hooks of the workspace by name."""

    results: list[Hook]


class HookIdentity(Shape):
    """A word of a hook for a person, and the user it stands for."""

    identity: str
    user: str
    user_name: str
    made_by: str
    created_at: datetime
    id: UUID
    hook_name: str
    confirmed_by: str = Field(
        description="Empty until its person confirms it: until then it decides nothing. `before`: "
        "it was mapped before that was asked."
    )

    @classmethod
    def of(cls, row: IdentityRow, names: Mapping[str, str]) -> Self:
        """The row for the wire; `names` is {"user:7": name}, empty for users who are gone."""
        user = f"user:{row.user_id}"
        return cls(
            identity=row.identity,
            user=user,
            user_name=names.get(user, ""),
            made_by=row.made_by,
            created_at=row.created_at,
            id=row.id,
            hook_name=row.hook_name,
            confirmed_by=row.confirmed_by,
        )


class OwnIdentities(Shape):
    """The words of hooks that stand for the caller."""

    results: list[HookIdentity]


class HookDetail(Hook):
    """A hook and the people whom its words stand for."""

    identities: list[HookIdentity]
