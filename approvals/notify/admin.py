"""Endpoints and deliveries in the records; changes are the actions of pages and API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from checkpoints.admin.filters import choice, ident, since
from checkpoints.admin.lists import Records
from checkpoints.admin.paging import Walk
from checkpoints.admin.people import Edited, UnsavedForm
from checkpoints.unseen import plain

from .channels import addresses
from .channels.kinds import KINDS
from .models import Delivery, Endpoint
from .texts.kinds import NEWS

TARGET_HELP = (
    "Mail: an address, or nothing for the people who may decide. A chat: an address of apprise. "
    "A webhook: https://... What is shown later is its beginning; left as it is, nothing changes."
)
NAMES_HELP = "Names, separated by commas; nobody named means everybody who may decide."
FIELDS = ("kind", "name", "target", "events", "digest", "people", "teams")


class Changes(Protocol):
    """The possible changes of an endpoint; each is an event, or is refused."""

    def make(self, kind: str, values: Mapping[str, Any]) -> tuple[UUID, str]: ...
    def change(self, endpoint_id: UUID, values: Mapping[str, Any]) -> None: ...
    def rotate(self, endpoint_id: UUID) -> str: ...
    def switch(self, endpoint_id: UUID, active: bool) -> None: ...
    def test(self, endpoint_id: UUID) -> None: ...


class EndpointEditor(Protocol):
    """The site, as far as it is needed here."""

    def endpoint(self, request: HttpRequest, workspace: UUID | None = None) -> Changes: ...


class Names(forms.CharField):
    """A list of names as one line."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        return [name.strip() for name in str(value or "").split(",") if name.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != (initial or []))


class EndpointForm(UnsavedForm):
    """An endpoint; it has no address and no secret."""

    kind = forms.ChoiceField(choices=[(kind, kind) for kind in KINDS])
    target = forms.CharField(
        required=False,
        max_length=2_000,
        help_text=TARGET_HELP,
        widget=forms.TextInput(attrs={"size": 60}),
    )
    events = forms.MultipleChoiceField(
        required=False,
        choices=[(kind, kind) for kind in NEWS],
        widget=forms.CheckboxSelectMultiple,
        help_text="None chosen: what is usual for its kind.",
    )
    digest = forms.IntegerField(
        required=False,
        min_value=0,
        help_text="Minutes in which a person gets only a few messages; the rest come as one.",
    )
    people = Names(required=False, help_text=NAMES_HELP)
    teams = Names(required=False, help_text=NAMES_HELP)

    class Meta:
        model = Endpoint
        fields = FIELDS


@admin.register(Endpoint)
class EndpointAdmin(Edited):
    """Destinations of notifications: mail, chats and webhooks."""

    form = EndpointForm
    change_form_template = "records/endpoint.html"
    list_display = ("name", "kind", "target", "active", "digest", "created_at")
    list_filter = ("kind", "active")
    ordering = ("name",)

    def changes(self, request: HttpRequest, obj: Any = None) -> Changes:
        """The changes that this person may make to the endpoint."""
        site = cast(EndpointEditor, self.admin_site)
        return site.endpoint(request, None if obj is None else obj.workspace_id)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return FIELDS if obj is None else (*FIELDS, "active", "made_by", "created_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if obj is None else ("kind", "active", "made_by", "created_at")

    def has_delete_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False  # its deliveries refer to it: it is switched off

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        values = {n: form.cleaned_data[n] for n in form.changed_data if n != "kind"}
        if not values.get("events", True):
            del values["events"]
        if values.get("digest", 0) is None:
            values["digest"] = 0
        if change:
            self.changes(request, obj).change(obj.pk, values)
            return
        values["name"] = form.cleaned_data["name"]
        kind = form.cleaned_data["kind"]
        obj.pk, obj.shown_once = self.changes(request).make(kind, values)
        obj.name = values["name"]

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: Any = None
    ) -> HttpResponse:
        if obj.shown_once:
            return self._secret(request, obj, obj.shown_once)
        return super().response_add(request, obj, post_url_continue)

    def get_urls(self) -> list[Any]:
        verbs = {"rotate": self.rotate_view, "switch": self.switch_view, "test": self.test_view}
        own = [
            path(
                f"<uuid:endpoint_id>/{verb}/",
                self.admin_site.admin_view(view),
                name=f"approvals_endpoint_{verb}",
            )
            for verb, view in verbs.items()
        ]
        return [*own, *super().get_urls()]

    def rotate_view(self, request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
        """A new secret, shown here once."""
        row = self._posted(request, endpoint_id)
        return self._secret(request, row, self.changes(request, row).rotate(row.pk))

    def switch_view(self, request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
        """On or off, as the button says: a second tap does not switch it back."""
        row, active = self._posted(request, endpoint_id), request.POST.get("active") == "1"
        self.changes(request, row).switch(row.pk, active)
        return self._back(request, row, f"{row.name} is switched {'on' if active else 'off'}.")

    def test_view(self, request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
        """A test message."""
        row = self._posted(request, endpoint_id)
        self.changes(request, row).test(row.pk)
        return self._back(request, row, "A worker sends a test message; see its deliveries.")

    def _posted(self, request: HttpRequest, endpoint_id: UUID) -> Any:
        row = self.get_object(request, str(endpoint_id))
        if request.method != "POST" or not self.editor.may_administer(request):
            raise PermissionDenied("Endpoints are changed by admins, with their buttons.")
        return row

    def _back(self, request: HttpRequest, row: Any, text: str) -> HttpResponse:
        messages.success(request, text)
        answer = HttpResponseRedirect(self._url(row))
        answer.status_code = 303
        return answer

    def _secret(self, request: HttpRequest, row: Any, secret: str) -> HttpResponse:
        """No redirect: a notice would carry it in a cookie."""
        context = {
            **self.admin_site.each_context(request),
            "title": f"The secret of {row.name}",
            "opts": self.opts,
            "secret": secret,
            "url": self._url(row),
        }
        return TemplateResponse(request, "records/secret.html", context)

    def _url(self, row: Any) -> str:
        return reverse("admin:approvals_endpoint_change", args=[row.pk])

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **more: Any
    ) -> HttpResponse:
        row = more.get("obj")
        if row is not None:
            deliveries = reverse("admin:approvals_delivery_changelist")
            context["related"] = [("Its deliveries", f"{deliveries}?endpoint_id={row.pk}")]
            context["refusal"] = addresses.refusal(row.kind, row.target)
            context["acts"] = self._acts(row) if self.editor.may_administer(request) else []
        return super().render_change_form(request, context, *args, **more)

    def _acts(self, row: Any) -> list[tuple[str, str, str]]:
        """(text, address, value of `active`) of each button."""
        verbs = [("Switch off", "switch", "0") if row.active else ("Switch on", "switch", "1")]
        verbs += [("Send a test message", "test", "")] if row.active else []
        verbs += [("New secret", "rotate", "")] if row.kind == "webhook" else []
        return [
            (text, reverse(f"admin:approvals_endpoint_{verb}", args=[row.pk]), active)
            for text, verb, active in verbs
        ]


@admin.register(Delivery)
class DeliveryRecords(Records):
    """Every notification: its recipient, attempts and outcome."""

    columns = (
        "created_at",
        "kind",
        "where",
        "recipient",
        "attempts",
        "done_at",
        "failed_at",
        "why",
    )
    joins = ("endpoint",)
    needs = ("endpoint__name", "error", "skipped")
    actors = ("recipient",)
    walks = (
        Walk(("id",), ("endpoint_id",)),
        Walk(("id",), ("workspace_id",)),
        Walk(("id",)),
    )
    filters = (
        choice("kind", NEWS),
        since("created_at"),
        ident("endpoint_id", "endpoint"),
        ident("workspace_id", "workspace"),
    )
    search_ids = ("id", "endpoint_id", "news_id")
    search_exact = ("webhook_id",)
    search_help_text = "Id or its beginning, id of the endpoint or the news, webhook-id"
    refusal = (
        "Deliveries are made by the sender of a worker; endpoints are changed under Endpoints."
    )

    def where(self, row: Any) -> str:
        """The endpoint by name."""
        return plain(row.endpoint.name)

    def why(self, row: Any) -> str:
        """The delivery's error, or the reason why nothing was sent."""
        return row.error or row.skipped or "–"

    def related(self, row: Any) -> list[tuple[str, str]]:
        return [
            ("Its endpoint", reverse("admin:approvals_endpoint_change", args=[row.endpoint_id])),
        ]
