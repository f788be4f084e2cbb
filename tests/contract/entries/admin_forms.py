"""Forms of the admin site as entry points, and those that are closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import uuid4

from django.contrib import admin
from django.urls import reverse

from checkpoints.admin.lists import Records
from dashboard.administration.policy_form import PolicyForm
from dashboard.gateway.registry.definitions import definition_of, hash_of
from tests.contract.world import World
from tests.unit.dashboard.gateway import listing

from . import targets
from .entry import Entry, Knock, addresses, answered, browsers

type Form = tuple[str, dict[str, Any]]


def _policy_form() -> dict[str, Any]:
    initial = {name: one.initial for name, one in PolicyForm().fields.items() if one.initial}
    payload = {
        "name": f"Entry point {uuid4().hex[:8]}",
        "condition": "tool == 'mail'",
        "action": "ask",
    }
    return {**initial, **payload, "undo_window": "0", "on_expiry": "expire", "number": "1"}


ENDPOINT = {"kind": "webhook", "target": "https://agent.example/in", "digest": "0"}
ENDPOINT |= {"events": "approval.decided"}
NEW = {"password1": "a long pass word", "password2": "a long pass word", "usable_password": "true"}

# Addresses of the admin site that change something: (the row, the form).
ADMIN: dict[str, Callable[[World, bool], Form]] = {
    "auth_user_add": lambda w, f: ("", {"username": f"new-{uuid4().hex[:6]}", **NEW}),
    "auth_user_change": lambda w, f: (str(targets.user(w, f)), targets.person(w, f)),
    "auth_user_password_change": lambda w, f: (str(targets.user(w, f)), NEW),
    "user_sign_out": lambda w, f: (
        str(w.cast.users["stranger" if f else "operator"].pk),
        {},
    ),
    "user_second_factor_remove": lambda w, f: (
        str(w.cast.users["stranger" if f else "operator"].pk),
        {},
    ),
    "checkpoints_membership_add": lambda w, f: (
        "",
        {"user": targets.user(w, f), "role": "auditor"},
    ),
    "checkpoints_membership_delete": lambda w, f: (str(targets.role(w, f)), {"post": "yes"}),
    "checkpoints_workspace_change": lambda w, f: (
        str(w.cast.elsewhere if f else w.cast.workspace),
        {"name": f"named-{uuid4().hex[:6]}"},
    ),
    "dashboard_token_revoke": lambda w, f: (targets.token(w, f), {}),
    "approvals_hook_add": lambda w, f: ("", {"name": f"entry-{uuid4().hex[:8]}"}),
    "approvals_hook_change": lambda w, f: (targets.hook(w, f), {"new_secret": "on"}),
    "approvals_hookidentity_add": lambda w, f: (
        "",
        {"hook": targets.hook(w, f), "identity": "U2", "user": targets.user(w, f)},
    ),
    "approvals_hookidentity_delete": lambda w, f: (targets.identity(w, f), {"post": "yes"}),
}
ADMIN |= {
    "approvals_endpoint_add": lambda w, f: (
        "",
        {**ENDPOINT, "name": f"entry point {uuid4().hex[:8]}"},
    ),
    "approvals_endpoint_change": lambda w, f: (
        targets.endpoint(w, f),
        {**ENDPOINT, "name": f"entry point {uuid4().hex[:8]}"},
    ),
    "approvals_endpoint_rotate": lambda w, f: (targets.endpoint(w, f), {}),
    "approvals_endpoint_switch": lambda w, f: (targets.endpoint(w, f), {"active": "0"}),
    "approvals_endpoint_test": lambda w, f: (targets.endpoint(w, f), {}),
    "policy_add": lambda w, f: ("", _policy_form()),
    "policy": lambda w, f: (targets.policy(w, f), _policy_form()),
    "policy_switch": lambda w, f: (targets.policy(w, f), {"active": "0"}),
    "policy_move": lambda w, f: (targets.policy(w, f), {"position": "1"}),
    "policy_cap": lambda w, f: (
        "",
        {"scope": "thread", "per": "day", "max_cost": "2.50", "active": "1"},
    ),
}
ADMIN |= {
    "retention": lambda w, f: (
        "",
        {"agent": "nobody", "days": "30", "active": "1", "counted": "30:nobody"},
    ),
}
MCP = {"url": "https://mail.example/mcp"}
SEEN = f"{hash_of(definition_of(listing.FORMER))}:add"
ADMIN |= {
    "mcp_server_add": lambda w, f: ("", {"name": f"entry-{uuid4().hex[:8]}", **MCP}),
    "mcp_server_change": lambda w, f: (targets.mcp_server(w, f), MCP),
    "mcp_server_switch": lambda w, f: (targets.mcp_server(w, f), {"active": "0"}),
    "mcp_server_tools": lambda w, f: (targets.mcp_server(w, f), {}),
    "mcp_server_accept": lambda w, f: (targets.mcp_server(w, f), {"tool": SEEN}),
    "mcp_server_mode": lambda w, f: (targets.mcp_server(w, f), {"tool": "add", "mode": "ask"}),
    "mcp_server_remove": lambda w, f: (targets.mcp_server(w, f), {}),
}
ADMIN |= {
    "approvals_subscription_add": lambda w, f: (
        "",
        {"person": "viewer", "endpoint": targets.mail(w, f), "kinds": "thread.failed"},
    ),
    "approvals_subscription_change": lambda w, f: (
        targets.subscription(w, f),
        {"endpoint": targets.mail(w, f), "agent": "research"},
    ),
    "approvals_subscription_delete": lambda w, f: (targets.subscription(w, f), {"post": "yes"}),
}
NO_ROW = {"policy_cap", "retention"}

# Superusers only: no role of the cast opens it.
ROOT = {"checkpoints_workspace_add"}

# A form that names things in its fields says what is wrong with them in place of 404.
BY_FIELD = {"checkpoints_membership_add", "approvals_hookidentity_add"}
BY_FIELD |= {"approvals_subscription_add"}

# Of rows that are edited: no such form, or nothing behind it but a refusal.
CLOSED = {
    "auth_user_delete",
    "checkpoints_membership_change",
    "checkpoints_workspace_delete",
    "approvals_endpoint_delete",
    "approvals_hook_delete",
    "approvals_hookidentity_change",
}

# Of the site itself: signing out and one's own password, which are everybody's own.
OWN = {"logout", "password_change"}
SITE = {"index", "login", "password_change_done", "jsi18n", "app_list", "view_on_site"}
SITE |= {"autocomplete", "", "policies", "mcp_servers", "mcp_server"}
SITE |= {"record_search", "record_export"}


def has_row(name: str) -> bool:
    """Whether an address of the admin site names a row."""
    return not name.endswith("_add") and name not in NO_ROW


def admin_form(name: str, world: World, foreign: bool) -> Knock:
    """Send a form of the admin site."""
    ident, form = ADMIN[name](world, foreign)
    path = reverse(f"admin:{name}", args=[ident] if has_row(name) else [])
    clients = browsers(world)

    def knock(who: str | None) -> str:
        answer = clients[who].post(path, form)
        if answer.status_code == 200 and "errorlist" in answer.content.decode():
            return "422"  # shown again, with what is wrong with it
        return answered(answer)

    return knock


def admin_forms() -> Iterator[Entry]:
    for name in ADMIN:
        things = has_row(name)
        yield Entry("admin", name, partial(admin_form, name), names_things=things)


def admin_names() -> set[str]:
    """Every named address of the site."""
    return {one.partition(":")[2] for one, _ in addresses() if one.startswith("admin:")}


def read_only() -> set[str]:
    """The addresses of lists that only look."""
    admin.autodiscover()
    results = set()
    for model, made in admin.site._registry.items():
        stem = f"{model._meta.app_label}_{model._meta.model_name}"
        last = ("changelist", "history")
        if isinstance(made, Records):
            last += ("add", "change", "delete")
        results |= {f"{stem}_{word}" for word in last}
    return results
