"""The admin site: the auditors' view of all that is kept, and where admins look after people.

Who enters and what they see is decided by roles, as everywhere; Django's own permissions, groups
and its second log of changes are not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import update_wrapper
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.admin.views.main import ERROR_FLAG, ORDER_VAR, PAGE_VAR, SEARCH_VAR
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import BooleanField, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator

from approvals.policies.coverage import held_tools
from checkpoints import queries
from dashboard.administration import mcp_server_pages as mcp_pages
from dashboard.administration import policy_pages, retention
from dashboard.administration.endpoints import EndpointForms
from dashboard.administration.hooks import HookForms
from dashboard.administration.subscriptions import SubscriptionForms
from dashboard.errors import ActionError, Forbidden, Missing, NeedsSecondAdmin
from dashboard.fields.parameters import COLUMNS, CURSOR, ID, NUMBER, TEXT, Values, one_of
from dashboard.identity.administrator import Administrator, administrator_of
from dashboard.identity.page_workspace import refuse_other
from dashboard.kit.pages import addresses
from dashboard.kit.pages.base import SeeOther, refused, to_set_up
from dashboard.people.accounts import administration
from dashboard.wording.sentences import steps_limit

from . import cells as showing
from . import search_pages

GROUPS = (
    ("Threads", ("thread", "checkpoint", "content", "event", "activity", "artifact")),
    ("Decisions", ("approval", "decision", "policyversion", "hookdelivery")),
    ("Retention and budgets", ("retentionrule", "hold", "budget")),
    ("Notifications", ("incident", "subscription", "quiethours", "endpoint", "delivery")),
    ("Agents", ("agentversion", "worker")),
    (
        "People",
        (
            *("workspaceevent", "membership", "user", "workspace", "token", "savedview"),
            *("hook", "hookidentity"),
        ),
    ),
)
ASKED_BY = "administrator"
NEEDS = "The records are for auditors and admins; ask an admin for one of these roles."


class OwnPasswordForm(PasswordChangeForm):
    """A new password for oneself is an event as well."""

    def save(self, commit: bool = True) -> Any:
        """Set it through the one writer of passwords."""
        who = administrator_of(self.user)
        new, former = self.cleaned_data["new_password1"], self.cleaned_data["old_password"]
        administration.set_own_password(who, self.user, new, former=former)
        self.user.refresh_from_db(fields=["password"])
        return self.user


class RecordsSite(admin.AdminSite):
    """Django's admin by our roles; also the `ListSite` and the `Editor` of the floors below."""

    site_header = "Gatepost records"
    site_title = "Gatepost records"
    index_title = "Audit records"
    index_template = "records/index.html"
    password_change_form = OwnPasswordForm
    enable_nav_sidebar = False

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """As Django does, and models with a key of several columns if their list can read them.

        Django refuses these since its own pages cannot address such rows; those of `Records` can.
        """
        one = isinstance(model_or_iterable, type)
        models: list[Any] = [model_or_iterable] if one else list(model_or_iterable)
        for model in models:
            if model.__module__.startswith("allauth."):
                continue  # of single sign-on, which stores nothing there
            if model._meta.is_composite_pk and hasattr(admin_class, "url_of"):
                self._registry[model] = admin_class(model, self)
            else:
                super().register(model, admin_class, **options)

    # --- who enters ------------------------------------------------------------------------------
    def who(self, request: HttpRequest) -> Administrator | None:
        """The person who makes the request, with current roles, read once; None for strangers."""
        if not hasattr(request, ASKED_BY):
            try:
                result = administrator_of(request.user)
            except Forbidden:
                result = None
            setattr(request, ASKED_BY, result)
        known: Administrator | None = getattr(request, ASKED_BY)
        return known

    def member(self, request: HttpRequest) -> Administrator:
        """The person who makes the request; raises PermissionDenied for strangers."""
        result = self.who(request)
        if result is None or not result.may_audit:
            raise PermissionDenied(NEEDS)
        return result

    def has_permission(self, request: HttpRequest) -> bool:
        result = self.who(request)
        return result is not None and result.may_audit

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        inner = super().admin_view(_with_notices(view), cacheable)

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            who = self.member(request)
            if who.actor.lacks_factor:
                return to_set_up(request)
            try:
                refuse_other(request, who.actor)
            except ActionError as error:
                return refused(request, error)
            names = _parameters(view, request)
            if names is not None:
                if (payload := addresses.refusal(request, names)) is not None:
                    return payload
                if clean := addresses.without_passed_over(request):
                    return HttpResponseRedirect(clean)
            answer: HttpResponse = inner(request, *args, **kwargs)
            if names is not None and answer.get("Location", "").endswith(f"?{ERROR_FLAG}=1"):
                return addresses.refuse_values(request)
            return answer

        return update_wrapper(guarded, inner)

    @method_decorator(login_not_required)
    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Send to the one sign-in page."""
        return redirect_to_login(request.GET.get("next") or "/admin/")

    # --- what the floors below ask (checkpoints.admin.lists.ListSite) ------------------------
    def scope(self, request: HttpRequest) -> UUID | None:
        """The workspace whose rows a person may read; None for all."""
        return self.member(request).scope

    def may_administer(self, request: HttpRequest) -> bool:
        """True if the person may change users, roles and workspaces."""
        return self.member(request).may_administer

    def is_superuser(self, request: HttpRequest) -> bool:
        """True if the person may see every workspace."""
        return self.member(request).superuser

    def actors_named(self, name: str) -> list[str]:
        """List the ids in logs of users of that name."""
        users = get_user_model()._default_manager.filter(username__iexact=name)
        return [f"user:{pk}" for pk in users.values_list("pk", flat=True)]

    def prepare(self, rows: Sequence[Any], actors: Iterable[str], threads: Iterable[UUID]) -> None:
        """Look up names of people and titles of threads for all rows of a page together."""
        showing.prepare(rows, actors, threads)

    def cell(self, row: Any, name: str) -> Any:
        """A column's value in a list."""
        return showing.cell(row, name)

    def full(self, row: Any, name: str) -> Any:
        """A column's value on the page of its row."""
        return showing.full(row, name)

    def account(self, row: Any) -> Any:
        """Which participant created the account behind a decision, where that needs a look."""
        return showing.account(row)

    def sentence(self, row: Any) -> Any:
        """Describe an event in words."""
        return showing.sentence(row)

    def marked(self, row: Any, value: Any) -> Any:
        """The first value of a row in a list, with a mark where its record is damaged."""
        return showing.marked(row, value)

    def damage(self, row: Any) -> str:
        """Describe the damage of the record that a row is part of; empty if none is known."""
        return showing.damage(row)

    def more_of(self, request: HttpRequest, row: Any) -> list[tuple[str, list[tuple[str, str]]]]:
        """Of an agent's version: its limit of steps, and which policies would hold its tools."""
        if row._meta.model_name != "agentversion":
            return []
        version = queries.agent_version(row.pk)
        held = held_tools(version, workspace=self.member(request).actor.workspace)
        tools = [("What holds its tools", [(one.tool, one.words) for one in held])] if held else []
        steps = [] if version.external else [("Limits", [("Steps", steps_limit(version.graph))])]
        return [*steps, *tools]

    # --- what the forms below do (checkpoints.admin.Editor) --------------------------------------
    def choose_from(self, request: HttpRequest) -> QuerySet[Any]:
        """The users whom this person may give a role."""
        result: QuerySet[Any] = administration.people_within_reach(self.member(request))
        return result.order_by("username")

    def grant(self, request: HttpRequest, workspace: UUID | None, user: int, role: str) -> UUID:
        """Give a role; the workspace."""
        return administration.grant_role(self.member(request), user, role, workspace=workspace)

    def withdraw(self, request: HttpRequest, workspace: UUID, user: int, role: str) -> None:
        """Take a role."""
        administration.withdraw_role(self.member(request), user, role, workspace=workspace)

    def create_workspace(self, request: HttpRequest, name: str) -> UUID:
        """Make a workspace."""
        return administration.create_workspace(self.member(request), name)

    def rename_workspace(self, request: HttpRequest, workspace: UUID, name: str) -> None:
        """Give a workspace another name."""
        administration.rename_workspace(self.member(request), workspace, name)

    def require_second_factor(
        self, request: HttpRequest, workspace: UUID, roles: Iterable[str]
    ) -> None:
        """Let exactly these roles of a workspace need a second factor."""
        administration.require_second_factor(self.member(request), workspace, roles)

    # --- policies, retention and MCP servers, which have pages of their own ----------------------
    def get_urls(self) -> list[Any]:
        view = self.admin_view
        one = "policies/<uuid:policy_id>/"
        return [
            path("policies/", view(policy_pages.index), name="policies"),
            path("policies/add/", view(policy_pages.add), name="policy_add"),
            path("policies/cap/", view(policy_pages.cap), name="policy_cap"),
            path(one, view(policy_pages.change), name="policy"),
            path(f"{one}switch/", view(policy_pages.switch), name="policy_switch"),
            path(f"{one}move/", view(policy_pages.move), name="policy_move"),
            path("retention/", view(retention.page), name="retention"),
            path("search/", view(search_pages.search), name="record_search"),
            path("search/export/", view(search_pages.export), name="record_export"),
            *self._mcp_urls(),
            *super().get_urls(),
        ]

    def _mcp_urls(self) -> list[Any]:
        view, one = self.admin_view, "mcp-servers/<uuid:server_id>/"
        return [
            path("mcp-servers/", view(mcp_pages.index), name="mcp_servers"),
            path("mcp-servers/add/", view(mcp_pages.add), name="mcp_server_add"),
            path(one, view(mcp_pages.server), name="mcp_server"),
            path(f"{one}change/", view(mcp_pages.change), name="mcp_server_change"),
            path(f"{one}switch/", view(mcp_pages.switch), name="mcp_server_switch"),
            path(f"{one}tools/", view(mcp_pages.tools), name="mcp_server_tools"),
            path(f"{one}accept/", view(mcp_pages.accept), name="mcp_server_accept"),
            path(f"{one}mode/", view(mcp_pages.mode), name="mcp_server_mode"),
            path(f"{one}remove/", view(mcp_pages.remove), name="mcp_server_remove"),
        ]

    def endpoint(self, request: HttpRequest, workspace: UUID | None = None) -> EndpointForms:
        """The actions on notification endpoints; a superuser may perform them in each workspace."""
        return EndpointForms(self.member(request), workspace)

    def hook(self, request: HttpRequest, workspace: UUID | None = None) -> HookForms:
        """The actions on inbound hooks; a superuser may perform them in each workspace."""
        return HookForms(self.member(request), workspace)

    def subscription(
        self, request: HttpRequest, workspace: UUID | None = None
    ) -> SubscriptionForms:
        """The forms of subscriptions; a superuser may use them in each workspace."""
        return SubscriptionForms(self.member(request), workspace)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Also the workspace whose records these are, and the others of this person."""
        result = super().each_context(request)
        who = self.who(request)
        if who is None or who.superuser:
            return result
        others = [
            membership for membership in who.actor.places if membership[0] != who.actor.workspace
        ]
        return result | {
            "workspace_name": who.actor.workspace_name if others else "",
            "other_workspaces": others,
        }

    # --- the first page --------------------------------------------------------------------------
    def index(self, request: HttpRequest, extra_context: Any = None) -> TemplateResponse:
        """All lists, and above them how the record stands."""
        scope = self.member(request).scope
        integrity = queries.integrity(workspace=scope)
        damages = queries.damages(workspace=scope) if integrity.damaged else []
        payload = {"integrity": integrity, "damages": damages, **(extra_context or {})}
        return super().index(request, payload)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """List what this person may open, by subject."""
        results = {
            model["model"]._meta.model_name: model
            | {"about": (self.get_model_admin(model["model"]).__doc__ or "").partition("\n")[0]}
            for app in super().get_app_list(request)
            for model in app["models"]
        }
        return [
            {"name": name, "models": [results[m] for m in members if m in results]}
            for name, members in GROUPS
        ]

    def app_index(self, *_: Any, **__: Any) -> Any:
        """Apps are of no interest here."""
        return HttpResponseRedirect(reverse("admin:index"))

    def get_log_entries(self, request: HttpRequest) -> QuerySet[LogEntry]:
        """None: the workspace's own log is the record."""
        return LogEntry.objects.none()


def _parameters(view: Any, request: HttpRequest) -> dict[str, Values] | None:
    """The query parameters of a list of records; None for every other page."""
    records = getattr(view, "__self__", None)
    if not isinstance(records, admin.ModelAdmin) or view.__name__ != "changelist_view":
        return None
    known = {SEARCH_VAR: TEXT, PAGE_VAR: CURSOR if hasattr(records, "walks") else NUMBER}
    if records.get_sortable_by(request):
        known[ORDER_VAR] = COLUMNS
    filters: Iterable[Any] = records.get_list_filter(request)
    for one in filters:
        if isinstance(one, str):
            known[f"{one}__exact"] = one_of(_words(records, one))
        else:
            known[one.parameter_name] = one_of(one.values) if one.values else ID
    return known


def _words(records: admin.ModelAdmin[Any], name: str) -> list[str]:
    """The values of a column by which Django's own filter narrows: its own, else its form's."""
    field = records.model._meta.get_field(name)
    if isinstance(field, BooleanField):
        return ["1", "0"]
    choices = field.choices or getattr(records.form.base_fields[name], "choices", ())
    return [str(value) for value, _ in choices]


def _with_notices(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A view whose refused changes become a notice above the form they came from."""

    def with_notices(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except ActionError as error:
            if error.afterwards is not None:
                error.afterwards()  # it went with the transaction of the form
            if request.method != "POST" or isinstance(
                error, Forbidden | Missing | NeedsSecondAdmin
            ):
                return refused(request, error)
            messages.error(request, error.detail)
            return SeeOther(request.get_full_path())

    return update_wrapper(with_notices, view)
