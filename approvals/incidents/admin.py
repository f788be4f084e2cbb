"""Incidents, subscriptions and quiet hours in the records; changes go through the site."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast
from uuid import UUID

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from checkpoints.admin.filters import choice, ident, since
from checkpoints.admin.lists import Records
from checkpoints.admin.paging import Walk
from checkpoints.admin.people import Edited, UnsavedForm

from ..notify.models import Endpoint
from ..notify.texts.incident_kinds import TROUBLES
from .models import Incident, QuietHours, Subscription

FIELDS = ("person", "team", "endpoint", "kinds", "agent", "label", "urgent")
ESCALATION = ("escalate_to", "escalate_minutes")


class Changes(Protocol):
    """Changes of a subscription; each is an event, or is refused."""

    def make(self, values: Mapping[str, Any], *, person: str, team: str) -> UUID: ...
    def change(self, subscription_id: UUID, values: Mapping[str, Any]) -> None: ...
    def remove(self, subscription_id: UUID) -> None: ...


class SubscriptionEditor(Protocol):
    """The site, as far as it is needed here."""

    def scope(self, request: HttpRequest) -> UUID | None: ...
    def subscription(self, request: HttpRequest, workspace: UUID | None = None) -> Changes: ...


class SubscriptionForm(UnsavedForm):
    """A subscription; whose it is is chosen once."""

    person = forms.CharField(required=False, help_text="A user name; or else a team.")
    kinds = forms.MultipleChoiceField(
        required=False,
        choices=[(kind, kind) for kind in TROUBLES],
        widget=forms.CheckboxSelectMultiple,
        help_text="None chosen: only what others escalate to it.",
    )

    class Meta:
        model = Subscription
        fields = (*FIELDS, *ESCALATION)


@admin.register(Subscription)
class SubscriptionAdmin(Edited):
    """Which news of incidents a person or a team gets, and by which endpoint."""

    form = SubscriptionForm
    list_display = ("id", "person", "team", "endpoint", "agent", "label", "created_at")
    list_select_related = ("endpoint",)
    ordering = ("created_at", "id")

    def changes(self, request: HttpRequest, obj: Any = None) -> Changes:
        """Changes of this one."""
        site = cast(SubscriptionEditor, self.admin_site)
        return site.subscription(request, None if obj is None else obj.workspace_id)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return (*FIELDS, *ESCALATION) + (() if obj is None else ("made_by", "created_at"))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if obj is None else ("person", "team", "made_by", "created_at")

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **more: Any
    ) -> Any:
        form = super().get_form(request, obj, change=change, **more)
        scope = cast(SubscriptionEditor, self.admin_site).scope(request)
        rows = {
            "endpoint": Endpoint.objects.order_by("name"),
            "escalate_to": Subscription.objects.order_by("created_at"),
        }
        for name, some in rows.items():
            if field := form.base_fields.get(name):
                of = some if scope is None else some.filter(workspace_id=scope)
                cast("forms.ModelChoiceField[Any]", field).queryset = of
        if field := form.base_fields.get("escalate_to"):
            field.required = False
        if field := form.base_fields.get("escalate_minutes"):
            field.required = False
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        data = form.cleaned_data
        values = {
            "endpoint": data["endpoint"].pk,
            "kinds": data["kinds"],
            "agent": data["agent"],
            "label": data["label"],
            "urgent": data["urgent"],
            "escalate_to": data["escalate_to"].pk if data["escalate_to"] else None,
            "escalate_minutes": data["escalate_minutes"] or 0,
        }
        if change:
            self.changes(request, obj).change(obj.pk, values)
            return
        obj.pk = self.changes(request).make(values, person=data["person"], team=data["team"])

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.changes(request, obj).remove(obj.pk)


@admin.register(Incident)
class IncidentRecords(Records):
    """Grouped incidents: what was wrong, with how many threads, who took care of it."""

    columns = ("opened_at", "kind", "agent", "threads", "affected", "taken_by", "closed_at")
    walks = (Walk(("opened_at", "id"), ("workspace_id",)), Walk(("id",)))
    filters = (
        choice("kind", TROUBLES),
        since("opened_at"),
        ident("workspace_id", "workspace"),
    )
    search_ids = ("id",)
    search_exact = ("agent",)
    actors = ("taken_by", "snoozed_by", "closed_by")
    search_help_text = "Id or its beginning, agent"
    groups = (
        ("What is wrong", ("kind", "agent", "reason", "threads", "affected", "labels")),
        ("When", ("opened_at", "last_at", "closed_at")),
        (
            "Who",
            ("taken_by", "taken_at", "snoozed_by", "snoozed_until", "closed_by", "close_reason"),
        ),
        ("Ids", ("id", "workspace_id", "fingerprint")),
    )
    refusal = "Incidents are made by the sweep; take, snooze and close them on their page."

    def name_of(self, row: Any) -> str:
        return str(row.kind)

    def related(self, row: Any) -> list[tuple[str, str]]:
        return [("Open the incident", reverse("incident", args=[row.pk]))]


@admin.register(QuietHours)
class QuietHoursRecords(Records):
    """The hours in which news of incidents waits for a person; each sets their own."""

    columns = ("person", "begins", "ends", "zone")
    walks = (Walk(("id",)),)
    filters = (ident("workspace_id", "workspace"),)
    search_ids = ("id",)
    actors = ("person",)
    groups = (("Hours", ("person", "begins", "ends", "zone")), ("Ids", ("id", "workspace_id")))
    refusal = "Everybody sets their own quiet hours under Notifications."

    def name_of(self, row: Any) -> str:
        return str(row.person)
