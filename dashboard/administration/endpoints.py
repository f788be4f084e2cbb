"""Endpoints, the receivers of notifications: admins make, change and try them, auditors look.

Nothing is sent here: a worker does that, also for a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field

from approvals.notify import endpoints, queries
from approvals.notify.channels.kinds import KINDS
from approvals.notify.endpoints import OVERLAP_MAX, OVERLAP_SECONDS, Wanted
from approvals.notify.queries import DeliveryRow, EndpointRow
from approvals.notify.texts.kinds import (
    ADDRESS_MAX,
    DIGEST_MAX,
    NAME_MAX,
    NEWS,
    PERSON_MAX,
    PLACES_MAX,
)
from checkpoints.states import WorkspaceEventKind
from dashboard.documents.answer_json import with_more
from dashboard.documents.state_shape import Shape
from dashboard.errors import Missing, translated
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action, Target, read
from dashboard.kit.command import listing, show_row, verb
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import Nothing, RequestShape
from dashboard.kit.shapes.texts import NotBlank, OneOf
from dashboard.kit.terminal.console import PersonalCommand
from dashboard.kit.terminal.tables import Table, table
from dashboard.people.accounts.administration import require_audit

from .former_secrets import keep_option
from .record_forms import RecordForms

Names = Annotated[list[Annotated[str, NotBlank(PERSON_MAX)]], Field(max_length=PLACES_MAX)]


class ChangeEndpoint(RequestShape):
    """Other values of an endpoint; what is left out stays."""

    name: Annotated[str, NotBlank(NAME_MAX)] | None = None
    target: Annotated[str, Field(max_length=ADDRESS_MAX)] | None = Field(
        default=None,
        description="Mail: an address, or empty for the people who may decide. A chat: an address "
        "of apprise. A webhook: https://...",
    )
    events: Annotated[list[Annotated[str, OneOf(NEWS)]], Field(min_length=1)] | None = Field(
        default=None, description="The kinds of notifications."
    )
    digest: int | None = Field(
        default=None,
        ge=0,
        le=DIGEST_MAX,
        description="Minutes in which a person gets only a few messages; 0: no digest.",
    )
    people: Names | None = Field(default=None, description="User names; only these get the mail.")
    teams: Names | None = Field(
        default=None, description="Names of teams; only these get the mail."
    )

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
        default=int(OVERLAP_SECONDS),
        ge=0,
        le=int(OVERLAP_MAX),
        description="Seconds for which the former secret signs as well.",
    )


class SwitchEndpoint(RequestShape):
    """On or off."""

    active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointMade(EndpointRow):
    """A new endpoint or a new secret: `secret` is shown here and never again."""

    secret: str


class EndpointList(Shape):
    """The endpoints of the workspace by name."""

    results: list[EndpointRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointDetail(EndpointRow):
    """An endpoint and its last deliveries, newest first."""

    deliveries: list[DeliveryRow]


def list_endpoints(actor: Actor) -> EndpointList:
    """The endpoints of the workspace, for auditors and admins."""
    require_audit(actor)
    return EndpointList(results=queries.endpoints(workspace=actor.workspace))


@translated()
def one_endpoint(actor: Actor, endpoint_id: UUID) -> EndpointDetail:
    """An endpoint and its last deliveries."""
    require_audit(actor)
    row = _read(actor, endpoint_id)
    last = queries.deliveries(endpoint_id, workspace=actor.workspace)
    return with_more(EndpointDetail, row, deliveries=last)


def make_endpoint(actor: Actor, wanted: MakeEndpoint) -> EndpointMade:
    """A new endpoint, and the secret of a webhook, which nobody can show again."""
    made, secret = endpoints.make(actor.workspace, wanted.kind, wanted.wanted(), actor=actor.id)
    return with_more(EndpointMade, _read(actor, made), secret=secret)


def change_endpoint(actor: Actor, wanted: ChangeEndpoint, endpoint_id: UUID) -> EndpointRow:
    """Give an endpoint other values; None leaves one as it is."""
    endpoints.change(endpoint_id, wanted.wanted(), workspace=actor.workspace, actor=actor.id)
    return _read(actor, endpoint_id)


def rotate_endpoint(actor: Actor, wanted: RotateEndpoint, endpoint_id: UUID) -> EndpointMade:
    """A new secret, shown once; the former one signs too for `overlap` seconds more."""
    secret = endpoints.rotate(
        endpoint_id, workspace=actor.workspace, actor=actor.id, overlap=wanted.overlap
    )
    return with_more(EndpointMade, _read(actor, endpoint_id), secret=secret)


def switch_endpoint(actor: Actor, wanted: SwitchEndpoint, endpoint_id: UUID) -> EndpointRow:
    """Switch an endpoint on or off; off, what it has not got yet is dropped."""
    endpoints.switch(endpoint_id, wanted.active, workspace=actor.workspace, actor=actor.id)
    return _read(actor, endpoint_id)


def try_endpoint(actor: Actor, _: Nothing, endpoint_id: UUID) -> EndpointRow:
    """Have a test message sent; a mail endpoint for people sends it to the person who asks."""
    endpoints.try_out(
        endpoint_id, workspace=actor.workspace, actor=actor.id, recipient=actor.person
    )
    return _read(actor, endpoint_id)


def _read(actor: Actor, endpoint_id: UUID) -> EndpointRow:
    return queries.endpoint(endpoint_id, workspace=actor.workspace)


def _endpoint_named(actor: Actor, name: str) -> UUID:
    for row in list_endpoints(actor).results:
        if name in (row.name, str(row.id)):
            return row.id
    raise Missing(f"There is no endpoint {name} in this workspace.")


ENDPOINT: Final = Target(name="name", find=_endpoint_named, metavar="NAME")
MAKE: Final = Action(
    name="endpoint.make",
    right="notify",
    takes=MakeEndpoint,
    # An address of a chat is a secret by its nature.
    checked_apart=("target",),
    answers=EndpointMade,
    status=201,
    secret=True,
    perform=make_endpoint,
    events=(WorkspaceEventKind.ENDPOINT_MADE,),
    summary="Make an endpoint",
    description="The secret of a webhook is in this answer and nowhere else.",
    help="makes an endpoint; shows the secret of a webhook this once",
    done=lambda *_: "Made.",
    examples="endpoint create webhook ci --target https://ci.example.com/hook "
    "--event thread.failed",
)
CHANGE: Final = Action(
    name="endpoint.change",
    right="notify",
    target=ENDPOINT,
    takes=ChangeEndpoint,
    checked_apart=("target",),
    answers=EndpointRow,
    perform=change_endpoint,
    events=(WorkspaceEventKind.ENDPOINT_CHANGED,),
    summary="Change an endpoint",
    description="Change the members that are sent; the others stay.",
    help="changes an endpoint; what is not named stays",
    done=lambda *_: "Changed.",
)
ROTATE: Final = Action(
    name="endpoint.rotate",
    right="notify",
    target=ENDPOINT,
    takes=RotateEndpoint,
    answers=EndpointMade,
    secret=True,
    perform=rotate_endpoint,
    events=(WorkspaceEventKind.ENDPOINT_ROTATED,),
    summary="Give a webhook a new secret",
    description="Until `overlap` seconds are over, messages are signed by both.",
    help="gives a webhook another secret",
    done=lambda *_: "It has another secret.",
)
SWITCH: Final = Action(
    name="endpoint.switch",
    right="notify",
    target=ENDPOINT,
    takes=SwitchEndpoint,
    answers=EndpointRow,
    perform=switch_endpoint,
    events=(WorkspaceEventKind.ENDPOINT_SWITCHED,),
    summary="Switch an endpoint on or off",
    description="Off, what it has not got yet is dropped.",
    help="sends to an endpoint again",
    done=lambda wanted, _: "Switched on." if wanted.active else "Switched off.",
)
TEST: Final = Action(
    name="endpoint.test",
    right="notify",
    target=ENDPOINT,
    takes=Nothing,
    answers=EndpointRow,
    status=202,
    perform=try_endpoint,
    events=(WorkspaceEventKind.ENDPOINT_TESTED,),
    summary="Send a test message",
    description="A worker sends it; the outcome is in the deliveries.",
    help="has a test message sent",
    done=lambda *_: "A worker sends it; `endpoint list` shows the outcome.",
)
ALL: Final = reading(
    "endpoints_list", EndpointList, list_endpoints, summary="List", description="By name."
)
ONE: Final = reading(
    "endpoints_retrieve",
    EndpointDetail,
    one_endpoint,
    summary="An endpoint and its last deliveries",
    description="No address and no secret.",
    refused=(404,),
)


class EndpointForms(RecordForms):
    """The actions on endpoints for the forms of the records."""

    def make(self, kind: str, values: Mapping[str, Any]) -> tuple[UUID, str]:
        """A new one: its id and its secret."""
        made = MAKE.run(self.actor, read(MakeEndpoint, {"kind": kind, **values}))
        return made.id, made.secret

    def change(self, endpoint_id: UUID, values: Mapping[str, Any]) -> None:
        """Other values."""
        CHANGE.run(self.actor, read(ChangeEndpoint, values), endpoint_id)

    def rotate(self, endpoint_id: UUID) -> str:
        """A new secret."""
        return ROTATE.run(self.actor, RotateEndpoint(), endpoint_id).secret

    def switch(self, endpoint_id: UUID, active: bool) -> None:
        """On or off."""
        SWITCH.run(self.actor, SwitchEndpoint(active=active), endpoint_id)

    def test(self, endpoint_id: UUID) -> None:
        """A test message."""
        TEST.run(self.actor, Nothing(), endpoint_id)


# --- command --------------------------------------------------------------------------------------


def _show_secret(command: PersonalCommand, actor: Actor, shown: EndpointMade, *_: UUID) -> None:
    if command.as_json or not shown.secret:
        show_row(_table)(command, actor, shown)
        return
    command.stdout.write(shown.secret)
    command.say(f"{shown.name} ({shown.id}): this is the only time the secret is shown.")


def _table(rows: list[EndpointRow]) -> Table:
    return table(
        "",
        ("endpoint", "kind", "target", "is", "open", "failed", "last error", "refused"),
        (
            (
                row.name,
                row.kind,
                row.target,
                "on" if row.active else "off",
                row.open,
                row.failed,
                row.last_error,
                row.refusal,
            )
            for row in rows
        ),
    )


NAMES: Final = {
    "events": ("--event", "KIND"),
    "people": ("--people", "USER"),
    "teams": ("--teams", "TEAM"),
}
VERBS: Final = (
    listing(
        "lists the endpoints that notifications go to",
        "notify",
        list_endpoints,
        _table,
        empty="There is no endpoint: nobody is notified.",
    ),
    verb(
        MAKE,
        _show_secret,
        called="create",
        names={"kind": ("kind",), "name": ("name", "NAME"), **NAMES},
    ),
    verb(CHANGE, show_row(_table), names=NAMES, without=("name",)),
    verb(
        ROTATE,
        _show_secret,
        without=("overlap",),
        beside=keep_option("overlap", "how long the former secret signs as well"),
    ),
    verb(SWITCH, show_row(_table), called="enable", fixed={"active": True}),
    verb(
        SWITCH,
        show_row(_table),
        called="disable",
        does="sends nothing to an endpoint",
        fixed={"active": False},
    ),
    verb(TEST, show_row(_table)),
)
