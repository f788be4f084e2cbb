"""Inbound hooks in the admin site: admins make and change them, what they carried is only read.

Every change goes through the site to its hooks, so each is an entry of the log as well.
"""

from __future__ import annotations

from typing import Any, Protocol, cast
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from checkpoints.admin.filters import ident, since
from checkpoints.admin.lists import Records
from checkpoints.admin.paging import Walk
from checkpoints.admin.people import Edited, Editor

from .models import Hook, HookDelivery, HookIdentity

SECRET_PAGE = "records/hook_secret.html"  # noqa: S105


class Changes(Protocol):
    """The possible changes of a hook; each is an event, or is refused."""

    def make(self, name: str) -> tuple[UUID, str]: ...
    def rotate(self, hook_id: UUID) -> str: ...
    def switch(self, hook_id: UUID, active: bool) -> None: ...
    def map(self, hook_id: UUID, identity: str, user: int) -> UUID: ...
    def unmap(self, hook_id: UUID, identity: str) -> None: ...


class HookEditor(Editor, Protocol):
    """The site, as far as it is needed here."""

    def hook(self, request: HttpRequest, workspace: UUID | None = None) -> Changes: ...


class HookForm(forms.ModelForm):  # type: ignore[type-arg]
    """A hook; its secret is made here and shown once."""

    new_secret = forms.BooleanField(
        required=False,
        label="Make another secret",
        help_text="It is shown once, on the next page; the former one holds for another day.",
    )


class IdentityForm(forms.ModelForm):  # type: ignore[type-arg]
    """Whom a hook's word for a person stands for."""

    user: Any = forms.ModelChoiceField(
        queryset=None,
        help_text="The hook decides as this person: make sure that they are one and the same.",
    )


@admin.register(Hook)
class HookAdmin(Edited):
    """Services that may send signed decisions here."""

    form = HookForm
    list_display = ("name", "active", "made_by", "created_at", "rotated_at", "refused_at")
    ordering = ("name",)

    @property
    def site(self) -> HookEditor:
        """The site."""
        return cast(HookEditor, self.admin_site)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("name", "active", "new_secret") if obj else ("name",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("name",) if obj else ()

    def has_delete_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False  # what it carried refers to it: it is disabled instead

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.pk, obj.shown_once = self.site.hook(request).make(obj.name)
            return
        changes = self.site.hook(request, obj.workspace_id)
        if "active" in form.changed_data:
            changes.switch(obj.pk, obj.active)
        if form.cleaned_data.get("new_secret"):
            obj.shown_once = changes.rotate(obj.pk)

    def response_add(self, request: HttpRequest, obj: Any, *_: Any, **__: Any) -> HttpResponse:
        return self._shown(request, obj)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        if hasattr(obj, "shown_once"):
            return self._shown(request, obj)
        return super().response_change(request, obj)

    def _shown(self, request: HttpRequest, obj: Any) -> HttpResponse:
        """The one page that shows the secret; it is in no message and in no address."""
        context = {
            **self.admin_site.each_context(request),
            "title": f"The secret of the hook {obj.name}",
            "opts": self.opts,
            "list_url": "admin:approvals_hook_changelist",
            "secret": obj.shown_once,
            "address": request.build_absolute_uri(f"{reverse('api:hook')}?hook={obj.pk}"),
        }
        return TemplateResponse(request, SECRET_PAGE, context)


@admin.register(HookIdentity)
class HookIdentityAdmin(Edited):
    """Which person here each name in a hook's requests belongs to."""

    form = IdentityForm
    fields = ("hook", "identity", "user")
    list_display = ("identity", "hook", "person", "made_by", "created_at")
    list_select_related = ("hook",)
    ordering = ("hook__name", "identity")

    @property
    def site(self) -> HookEditor:
        """The site."""
        return cast(HookEditor, self.admin_site)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("hook", "identity", "person") if obj else ("hook", "identity", "user")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("hook", "identity", "person") if obj else ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        model = get_user_model()
        named = model._default_manager.filter(pk=OuterRef("user_id"))
        username = Subquery(named.values(model.USERNAME_FIELD)[:1])
        rows: QuerySet[Any] = super().get_queryset(request).annotate(username=username)
        return rows

    @admin.display(description="stands for")
    def person(self, row: Any) -> str:
        """The user's name."""
        return str(row.username or f"user:{row.user_id}")

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **more: Any
    ) -> Any:
        form = super().get_form(request, obj, change=change, **more)
        if obj is None:
            hooks = Hook.objects.order_by("name")
            scope = self.site.scope(request)
            of = hooks if scope is None else hooks.filter(workspace_id=scope)
            for name, rows in (("hook", of), ("user", self.site.choose_from(request))):
                cast("forms.ModelChoiceField[Any]", form.base_fields[name]).queryset = rows
        return form

    def has_change_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False  # one is taken away and another made: two events

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        changes = self.site.hook(request, obj.hook.workspace_id)
        obj.pk = changes.map(obj.hook_id, obj.identity, form.cleaned_data["user"].pk)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.site.hook(request, obj.workspace_id).unmap(obj.hook_id, obj.identity)


@admin.register(HookDelivery)
class HookDeliveryRecords(Records):
    """Every request from a hook and our answer; never changed."""

    columns = ("at", "webhook_id", "approval_id", "actor", "status")
    walks = (Walk(("id",)),)
    filters = (
        since("at"),
        ident("approval_id", "approval"),
        ident("workspace_id", "workspace"),
    )
    search_ids = ("id", "approval_id")
    search_exact = ("webhook_id",)
    actors = ("actor",)
    groups = (
        ("What came", ("at", "hook_id", "webhook_id", "approval_id", "actor")),
        ("What was answered", ("status", "answer")),
        ("Proof", ("id", "body_hash")),
    )
    refusal = "Deliveries are written when they come and never changed."

    def name_of(self, row: Any) -> str:
        return str(row.webhook_id)
