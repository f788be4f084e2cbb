"""Users and tokens in the admin site: who may sign in or call; every change is an event."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import (
    AdminPasswordChangeForm,
    AdminUserCreationForm,
    ReadOnlyPasswordHashWidget,
    UserChangeForm,
)
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms.utils import flatatt
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from checkpoints import queries
from checkpoints.admin.filters import ident, since
from checkpoints.admin.lists import Logged, Records
from checkpoints.admin.paging import Walk
from dashboard.kit.pages.base import SeeOther
from dashboard.people import second_factor, sign_ins
from dashboard.people.accounts import administration
from dashboard.people.accounts.accounts import FIELDS
from gatepost_command import COMMAND

from .errors import Conflict
from .identity import tokens
from .identity.permissions import ROLES
from .identity.second_factor.records import has_factor
from .models import SavedView, Token
from .records import cells as showing
from .records.site import RecordsSite

NOT_DELETED = "Users are not deleted, since the logs refer to them: take away “Active” instead."
NEEDS_ADMIN = "Users are looked after by admins."
ROLE_HELP = {
    "viewer": "reads",
    "operator": "starts, steers, edits, forks and rolls back threads",
    "reviewer": "decides approvals, forks and rolls back",
    "auditor": "reads everything, the records too",
    "admin": "looks after people and roles, decides nothing",
}


class WithRoles(forms.ModelForm):  # type: ignore[type-arg]
    """A user's form with their roles in the admin's own workspace."""

    roles = forms.MultipleChoiceField(
        required=False,
        choices=[(role, f"{role}: {ROLE_HELP[role]}") for role in ROLES],
        widget=forms.CheckboxSelectMultiple,
    )


class NewUser(WithRoles, AdminUserCreationForm):  # type: ignore[type-arg]
    """A new user."""


class PasswordLink(ReadOnlyPasswordHashWidget):
    """The way to another password; of the stored one it shows nothing but whether there is one."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        context = self.get_context(name, value, attrs)
        is_usable = bool(value) and not value.startswith(UNUSABLE_PASSWORD_PREFIX)
        return format_html(
            '<div{}><p>{}</p><p><a role="button" class="button" href="{}">{}</a></p></div>',
            flatatt(context["widget"]["attrs"]),
            "A password is set." if is_usable else "No password set.",
            "../password/",
            context["button_label"],
        )


class ChangedUser(WithRoles, UserChangeForm):  # type: ignore[type-arg]
    """A user who is there."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "password" in self.fields:
            self.fields["password"].widget = PasswordLink()


class PasswordForm(AdminPasswordChangeForm):  # type: ignore[type-arg]
    """Somebody else's password; `user.looked_after_by` is the admin."""

    def save(self, commit: bool = True) -> Any:
        """Set it through the one writer of passwords."""
        who = self.user.looked_after_by
        usable = self.cleaned_data.get("set_usable_password", True)
        password = self.cleaned_data["password1"] if usable else None
        administration.set_password(who, self.user.pk, password)
        self.user.refresh_from_db(fields=["password"])
        return self.user


admin.site.unregister(get_user_model())
admin.site.unregister(Group)


@admin.register(Token)
class TokenRecords(Records):
    """API tokens and the person each acts for. Create one by command; revoke it here or there."""

    columns = (
        "prefix",
        "whose",
        "name",
        "scopes",
        "created_at",
        "expires_at",
        "last_used_at",
        "revoked_at",
    )
    needs = ("user_id",)
    filters = (since("created_at"), ident("workspace_id", "workspace"))
    search_exact = ("prefix", "name")
    search_help_text = "Id or its beginning, prefix, name, who made it"
    actors = ("made_by", "revoked_by")
    never_shown = ("secret_hash",)
    refusal = f"Tokens are made by `{COMMAND} token USER`, which shows one once."

    def whose(self, row: Any) -> Any:
        """The user whom the token speaks for."""
        return showing.person(row, f"user:{row.user_id}")

    def actors_of(self, row: Any) -> list[str]:
        return [*super().actors_of(row), f"user:{row.user_id}"]

    def name_of(self, row: Any) -> str:
        return str(row.prefix)

    def acts(self, row: Any) -> list[tuple[str, str]]:
        if row.revoked_at:
            return []
        return [("Revoke this token", reverse("admin:dashboard_token_revoke", args=[row.pk]))]

    def get_urls(self) -> list[Any]:
        revoke = self.admin_site.admin_view(self.revoke_view)
        name = "dashboard_token_revoke"
        return [path("<uuid:token_id>/revoke/", revoke, name=name), *super().get_urls()]

    def revoke_view(self, request: HttpRequest, token_id: UUID) -> HttpResponse:
        """End a token."""
        row = self.get_object(request, str(token_id))
        if row is None:
            raise Http404
        if request.method != "POST":
            self.refuse()
        result = tokens.listed(prefix=row.prefix)[0]
        administration.revoke_token(cast(RecordsSite, self.admin_site).member(request), result)
        messages.success(request, f"The token {row.prefix} is revoked.")
        return SeeOther(self.url_of(row))


@admin.register(SavedView)
class SavedViewRecords(Records):
    """Boards and questions to the record under names: whose each is, and whether it is shared."""

    columns = ("name", "surface", "owner", "shared", "address", "created_at")
    walks = (Walk(("id",)),)
    filters = (ident("workspace_id", "workspace"),)
    search_ids = ("id",)
    actors = ("owner",)
    groups = (
        ("View", ("name", "surface", "owner", "shared", "address", "created_at")),
        ("Ids", ("id", "workspace_id")),
    )
    refusal = "Views are saved, changed and removed above the board and the search of the records."

    def name_of(self, row: Any) -> str:
        return str(row.name)


@admin.register(get_user_model())
class PeopleAdmin(Logged, UserAdmin):  # type: ignore[type-arg]
    """People who may sign in; admins see those of their own workspace."""

    form, add_form, change_password_form = ChangedUser, NewUser, PasswordForm
    list_display = ("username", "first_name", "last_name", "email", "is_active", "last_login")
    list_filter = ("is_active",)
    filter_horizontal = ()
    readonly_fields = ("last_login", "date_joined")
    actions = None
    change_form_template = "records/user.html"
    show_facets = admin.ShowFacets.NEVER

    @property
    def site(self) -> RecordsSite:
        return cast(RecordsSite, self.admin_site)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        who = self.site.member(request)
        roles = (f"Roles in {who.actor.workspace_name}", {"fields": ("roles",)})
        if obj is None:
            login = ("username", "usable_password", "password1", "password2")
            return (None, {"fields": login}), roles
        flags = ("is_active", "is_superuser") if who.superuser else ("is_active",)
        return (
            (None, {"fields": ("username", "password")}),
            ("Who they are", {"fields": ("first_name", "last_name", "email")}),
            roles,
            ("Login", {"fields": (*flags, "last_login", "date_joined")}),
        )

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **more: Any
    ) -> Any:
        form = super().get_form(request, obj, change=change, **more)
        if obj is not None and "roles" in form.base_fields:
            workspace_id = self.site.member(request).actor.workspace
            form.base_fields["roles"].initial = [
                role
                for workspace, _, role in queries.memberships(obj.pk)
                if workspace == workspace_id
            ]
        return form

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        result: QuerySet[Any] = administration.people_within_reach(self.site.member(request))
        return result.order_by("username")

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        if not self.site.may_administer(request):
            raise PermissionDenied(NEEDS_ADMIN)
        result = super().get_object(request, object_id, from_field)
        if result is None:
            raise Http404
        result.looked_after_by = self.site.member(request)
        return result

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        who = self.site.member(request)
        value = form.cleaned_data
        if change:
            values = {k: value[k] for k in form.changed_data if k in FIELDS}
            roles = value["roles"] if "roles" in form.changed_data else None
            administration.change_person(who, obj.pk, values, roles)
        else:
            usable = value.get("set_usable_password", True)
            password = value["password1"] if usable else None
            made = administration.create_user(
                who, value["username"], password=password, roles=value["roles"]
            )
            obj.pk = made.pk
            obj._state.adding = False

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.sign_out_view)
        remove = self.admin_site.admin_view(self.second_factor_view)
        name = "user_second_factor_remove"
        return [
            path("<int:user_id>/sign-out/", view, name="user_sign_out"),
            path("<int:user_id>/second-factor/remove/", remove, name=name),
            *super().get_urls(),
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        """With the button that removes a second factor, where there is one."""
        obj = options.get("obj")
        context["second_factor"] = obj is not None and has_factor(obj.pk)
        return super().render_change_form(request, context, *args, **options)

    def second_factor_view(self, request: HttpRequest, user_id: int) -> HttpResponse:
        """Remove the second factor of a person."""
        if request.method != "POST":
            raise PermissionDenied("Use the button on the page of the user.")
        try:
            second_factor.remove_factor_of(self.site.member(request), user_id)
        except Conflict as error:
            messages.error(request, error.detail)
        else:
            messages.success(request, "The second factor is removed: the password alone signs in.")
        return SeeOther(reverse("admin:auth_user_change", args=[user_id]))

    def sign_out_view(self, request: HttpRequest, user_id: int) -> HttpResponse:
        """End all sign-ins of a person."""
        if request.method != "POST":
            raise PermissionDenied("Use the button on the page of the user.")
        n = sign_ins.sign_out_user(self.site.member(request), user_id)
        messages.success(request, f"{n:,} sign-in{'' if n == 1 else 's'} ended.")
        return SeeOther(reverse("admin:auth_user_change", args=[user_id]))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.site.may_administer(request)

    has_change_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.site.may_administer(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.site.has_permission(request) and self.site.may_administer(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def delete_view(self, *_: Any, **__: Any) -> HttpResponse:
        """Refuse, and say what to do."""
        raise PermissionDenied(NOT_DELETED)
