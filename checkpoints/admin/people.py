"""Workspaces, roles and the log of both.

Edits go through the site to the actions of pages and API, so each is an event as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, cast
from uuid import UUID

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest

from ..models import Membership, Workspace, WorkspaceEvent
from ..states import ROLES, WorkspaceEventKind
from .filters import ident, noun, since
from .history import CHAIN
from .lists import ListSite, Logged, Records
from .paging import Walk


@admin.register(WorkspaceEvent)
class WorkspaceEventRecords(Records):
    """Changes to rights, people and settings of the workspace, in order."""

    columns = ("at", "seq", "kind", "says", "actor")
    needs = ("data",)
    walks = (Walk(("seq",), ("workspace_id",)), Walk(("workspace_id", "seq")))
    key = ("workspace_id", "seq")
    record = "workspace_id"
    filters = (
        noun("kind", WorkspaceEventKind, "what it is about"),
        since("at"),
        ident("workspace_id", "workspace"),
    )
    search_ids = ("workspace_id",)
    begun = ""
    search_exact = ("kind", "actor")
    actors = ("actor",)
    search_help_text = "Kind (role.granted), a person's name"
    groups = (("What happened", ("workspace_id", "seq", "kind", "v", "actor", "at", "data")), CHAIN)
    refusal = "The log is written with each change of people and roles and never changed."

    def says(self, row: Any) -> Any:
        """In words."""
        return self.site.sentence(row)


class Editor(ListSite, Protocol):
    """The site's side of the forms below; each change writes at least one event, or is refused."""

    def is_superuser(self, request: HttpRequest) -> bool: ...
    def choose_from(self, request: HttpRequest) -> QuerySet[Any]:
        """The users whom this person may give a role."""

    def grant(self, request: HttpRequest, workspace: UUID | None, user: int, role: str) -> UUID: ...
    def withdraw(self, request: HttpRequest, workspace: UUID, user: int, role: str) -> None: ...
    def create_workspace(self, request: HttpRequest, name: str) -> UUID: ...
    def rename_workspace(self, request: HttpRequest, workspace: UUID, name: str) -> None: ...
    def require_second_factor(
        self, request: HttpRequest, workspace: UUID, roles: Iterable[str]
    ) -> None: ...


class UnsavedForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form over a row that it never fills: the floor below checks the values and writes them."""

    def _post_clean(self) -> None:  # Django has no public name for this step
        """Nothing is put into the row."""


class Edited(Logged, admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows that admins edit; the workspace's log is the record of it, not Django's own."""

    actions = None
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    change_list_template = "records/edited.html"
    workspace_column = "workspace_id"

    @property
    def editor(self) -> Editor:
        """The site."""
        return cast(Editor, self.admin_site)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        scope = self.editor.scope(request)
        return rows if scope is None else rows.filter(**{self.workspace_column: scope})

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        result = super().get_object(request, object_id, from_field)
        if result is None:
            raise Http404
        return result

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.admin_site.has_permission(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.admin_site.has_permission(request)

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        return self.editor.may_administer(request)

    def has_change_permission(self, request: HttpRequest, *_: Any) -> bool:
        return self.editor.may_administer(request)

    def has_delete_permission(self, request: HttpRequest, *_: Any) -> bool:
        return self.editor.may_administer(request)


@admin.register(Workspace)
class WorkspaceAdmin(Edited):
    """Each workspace is a tenant. A superuser creates it; its admins rename it."""

    list_display = ("name", "created_at")
    workspace_column = "id"

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("name", "second_factor_roles") if obj else ("name",)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        if db_field.name != "second_factor_roles":
            return super().formfield_for_dbfield(db_field, request, **options)
        return forms.MultipleChoiceField(
            label="Second factor",
            required=False,
            choices=[(role, role) for role in ROLES],
            widget=forms.CheckboxSelectMultiple,
            help_text="People with one of these roles who sign in by a password need a second "
            "factor. Those who have none set it up before they can do anything else.",
        )

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        return self.editor.is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            self.editor.rename_workspace(request, obj.pk, obj.name)
            roles = form.cleaned_data["second_factor_roles"]
            self.editor.require_second_factor(request, obj.pk, roles)
        else:
            obj.pk = self.editor.create_workspace(request, obj.name)


@admin.register(Membership)
class MembershipAdmin(Edited):
    """Roles: one row for each person, workspace and role. A withdrawal takes effect immediately."""

    list_display = ("user", "role", "workspace")
    list_filter = ("role",)
    list_select_related = ("user", "workspace")
    search_fields = ("user__username",)
    ordering = ("user__username", "role")

    def has_change_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False  # a role is withdrawn and another given: two events

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        everywhere = self.editor.is_superuser(request)
        return ("user", "role", "workspace") if everywhere or obj else ("user", "role")

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **more: Any
    ) -> Any:
        form = super().get_form(request, obj, change=change, **more)
        if "user" in form.base_fields:
            choices = cast("forms.ModelChoiceField[Any]", form.base_fields["user"])
            choices.queryset = self.editor.choose_from(request)
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        workspace = self.editor.grant(request, obj.workspace_id, obj.user_id, obj.role)
        row = Membership.objects.get(workspace=workspace, user=obj.user_id, role=obj.role)
        obj.pk, obj.workspace_id = row.pk, workspace

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.editor.withdraw(request, obj.workspace_id, obj.user_id, obj.role)
