"""Subscriptions to incidents and quiet hours: one's own, and for admins those of everybody."""

from __future__ import annotations

from datetime import datetime, time
from typing import Annotated, Final, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.incidents.queries import SubscriptionRow
from approvals.incidents.quiet_hours import QuietRow
from approvals.incidents.subscriptions import Choice
from approvals.notify.texts.incident_kinds import ESCALATE_MAX, LABEL_MAX, TROUBLES, ZONE_MAX
from approvals.notify.texts.kinds import PERSON_MAX
from checkpoints.limits import AGENT_MAX
from dashboard import actions
from dashboard.actions.fleet import subscriptions
from dashboard.api.protocol.base import MemberView, answer, refusals
from dashboard.api.protocol.parameters import flag
from dashboard.api.shapes.requests import Nothing, RequestShape
from dashboard.api.shapes.texts import Id, NotBlank, OneOf
from dashboard.documents.state_shape import Shape

CLOCK: Final = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
LABEL: Final = "^$|="
Clock = Annotated[
    str, Field(pattern=CLOCK, max_length=5, description="Hours and minutes, such as 22:00.")
]


class Subscription(Shape):
    """A subscription of a person (`user:7`) or a team, by an endpoint.

    Without `kinds` it only gets what others escalate to it. `active` is whether anything can come.
    """

    id: UUID
    person: str
    team: str
    endpoint: UUID
    endpoint_name: str
    channel: str
    active: bool
    kinds: list[str]
    agent: str
    label: str
    urgent: bool
    escalate_to: UUID | None
    escalate_minutes: int
    made_by: str
    created_at: datetime

    @classmethod
    def of(cls, row: SubscriptionRow) -> Self:
        """The row for the wire."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class SubscriptionList(Shape):
    """Subscriptions, the oldest first."""

    results: list[Subscription]


class ChangeSubscription(RequestShape):
    """Other values of a subscription; what is left out stays."""

    endpoint: Id | None = Field(None, description="The endpoint that notifications go to.")
    kinds: list[Annotated[str, OneOf(TROUBLES)]] | None = Field(
        None, description="The problems; empty: only what other subscriptions escalate."
    )
    agent: Annotated[str, Field(max_length=AGENT_MAX)] | None = Field(
        None, description="Only of this agent; empty: of all."
    )
    label: Annotated[str, Field(max_length=LABEL_MAX, pattern=LABEL)] | None = Field(
        None, description="Only of threads with this label, `key=value`; empty: of all."
    )
    urgent: bool | None = Field(None, description="During quiet hours as well.")
    escalate_to: Id | None = Field(
        None,
        description="The subscription that is notified when nobody is assigned to an incident.",
    )
    escalate_minutes: int | None = Field(
        None, ge=0, le=ESCALATE_MAX, description="Minutes until then; 0: never."
    )

    def choice(self) -> Choice:
        """For the floor below."""
        return Choice(**{name: getattr(self, name) for name in ChangeSubscription.model_fields})


class MakeSubscription(ChangeSubscription):
    """A new subscription: of the caller, unless a person or a team is named."""

    endpoint: Id
    person: Annotated[str, NotBlank(PERSON_MAX)] | None = Field(
        None, description="A user name; admins only."
    )
    team: Annotated[str, NotBlank(PERSON_MAX)] | None = Field(
        None, description="The name of a team; admins only."
    )


class Hours(RequestShape):
    """Hours of each day; past midnight where they end earlier than they begin."""

    begins: Clock
    ends: Clock
    zone: Annotated[str, NotBlank(ZONE_MAX)] = Field(
        "UTC", description="A time zone, such as Europe/Berlin."
    )


class SetQuietHours(RequestShape):
    """Quiet hours of the caller; null: none."""

    hours: Hours | None


class QuietHours(Shape):
    """Quiet hours of the caller; all null where there are none."""

    begins: str | None
    ends: str | None
    zone: str | None

    @classmethod
    def of(cls, row: QuietRow | None) -> Self:
        """The row for the wire."""
        if row is None:
            return cls(begins=None, ends=None, zone=None)
        return cls(begins=f"{row.begins:%H:%M}", ends=f"{row.ends:%H:%M}", zone=row.zone)


class Subscriptions(MemberView):
    """Those of the caller, or a new one."""

    changes = "subscribe"

    @extend_schema(
        operation_id="subscriptions_list",
        responses={200: SubscriptionList, **refusals(422)},
        parameters=[flag("everybody", "Those of everybody; for auditors and admins.")],
        summary="List your subscriptions and those of your teams",
    )
    def get(self, request: Request) -> Response:
        """The oldest first."""
        rows = subscriptions.list_subscriptions(self.actor, everybody=self.flag("everybody"))
        return answer(SubscriptionList(results=[Subscription.of(row) for row in rows]))

    @extend_schema(
        operation_id="subscriptions_make",
        request=MakeSubscription,
        responses={201: Subscription, **refusals(422)},
        summary="Subscribe to incidents",
        description="People subscribe themselves by endpoints that write to people. Admins "
        "subscribe everybody, and teams, by every endpoint.",
    )
    def post(self, request: Request) -> Response:
        """201 with the subscription."""
        body = self.body(MakeSubscription)
        row = actions.make_subscription(
            self.actor, body.choice(), person=body.person or "", team=body.team or ""
        )
        return answer(Subscription.of(row), status=201)


class OneSubscription(MemberView):
    """One of them."""

    @extend_schema(
        operation_id="subscriptions_retrieve",
        responses={200: Subscription, **refusals(404)},
        summary="A subscription",
    )
    def get(self, request: Request, subscription_id: UUID) -> Response:
        """Of the caller or their teams; of others for auditors and admins."""
        return answer(Subscription.of(subscriptions.one_subscription(self.actor, subscription_id)))


class ChangeOneSubscription(MemberView):
    """Other values."""

    changes = "subscribe"

    @extend_schema(
        operation_id="subscriptions_change",
        request=ChangeSubscription,
        responses={200: Subscription, **refusals(404, 422)},
        summary="Change a subscription",
    )
    def post(self, request: Request, subscription_id: UUID) -> Response:
        """Values that are left out stay."""
        choice = self.body(ChangeSubscription).choice()
        row = actions.change_subscription(self.actor, subscription_id, choice)
        return answer(Subscription.of(row))


class RemoveOneSubscription(MemberView):
    """Nothing more is sent."""

    changes = "subscribe"

    @extend_schema(
        operation_id="subscriptions_remove",
        request=Nothing,
        responses={200: Subscription, **refusals(404, 409, 422)},
        summary="Remove a subscription",
    )
    def post(self, request: Request, subscription_id: UUID) -> Response:
        """The subscription as it was; 409 while another one escalates to it."""
        self.body(Nothing)
        return answer(Subscription.of(actions.remove_subscription(self.actor, subscription_id)))


class OwnQuietHours(MemberView):
    """Hours in which news waits for the caller."""

    changes = "subscribe"

    @extend_schema(
        operation_id="quiet_hours_retrieve",
        responses={200: QuietHours, **refusals()},
        summary="Your quiet hours",
    )
    def get(self, request: Request) -> Response:
        """All null without."""
        return answer(QuietHours.of(subscriptions.own_quiet_hours(self.actor)))

    @extend_schema(
        operation_id="quiet_hours_set",
        request=SetQuietHours,
        responses={200: QuietHours, **refusals(422)},
        summary="Set your quiet hours",
        description="Notifications of incidents wait until they end, except those of damaged "
        "records, breakers and urgent subscriptions.",
    )
    def post(self, request: Request) -> Response:
        """Null: news no longer waits."""
        hours = self.body(SetQuietHours).hours
        if hours is None:
            return answer(QuietHours.of(actions.set_quiet_hours(self.actor, None)))
        span = time.fromisoformat(hours.begins), time.fromisoformat(hours.ends)
        return answer(QuietHours.of(actions.set_quiet_hours(self.actor, span, hours.zone)))
