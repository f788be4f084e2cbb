"""Every page that changes something has a call and a command (D06).

The pages are enumerated: a new one that is not paired here fails. What has no call or command
stands in MISSING and BY_PERSON, which only shrink.
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.contract.operations import operations

from .admin_forms import ADMIN, ROOT
from .commands import COMMANDS, HOST
from .declared import pages, verbs
from .test_pages_and_calls import FORMS

# {page: (call, command)}; a dash: there is none, see MISSING.
PAIRS: Final[dict[str, tuple[str, str]]] = {
    "auth_user_add": ("users_make", "user create"),
    "auth_user_change": ("users_change", "user change"),
    "auth_user_password_change": ("users_password", "changepassword"),
    "user_sign_out": ("users_sign_out", "user sign-out"),
    "user_second_factor_remove": ("users_second_factor_remove", "user remove-second-factor"),
    "checkpoints_membership_add": ("users_change", "user roles"),
    "checkpoints_membership_delete": ("users_change", "user roles"),
    "checkpoints_workspace_add": ("-", "workspace create"),
    "checkpoints_workspace_change": ("workspace_rename", "workspace rename"),
    "dashboard_token_revoke": ("tokens_revoke", "token revoke"),
    "approvals_hook_add": ("hooks_make", "hook create"),
    "approvals_hook_change": ("hooks_rotate", "hook rotate"),
    "approvals_hookidentity_add": ("hooks_map", "hook map"),
    "approvals_hookidentity_delete": ("hooks_unmap", "hook unmap"),
    "approvals_endpoint_add": ("endpoints_make", "endpoint create"),
    "approvals_endpoint_change": ("endpoints_change", "endpoint change"),
    "approvals_endpoint_rotate": ("endpoints_rotate", "endpoint rotate"),
    "approvals_endpoint_switch": ("endpoints_switch", "endpoint disable"),
    "approvals_endpoint_test": ("endpoints_test", "endpoint test"),
    "policy_add": ("policies_make", "policy create"),
    "policy": ("policies_change", "policy change"),
    "policy_switch": ("policies_change", "policy change"),
    "policy_move": ("policies_change", "policy change"),
    "policy_cap": ("caps_set", "cap set"),
    "retention": ("retention_set", "retention set"),
    "mcp_server_add": ("mcp_servers_add", "mcp add"),
    "mcp_server_change": ("mcp_servers_change", "mcp change"),
    "mcp_server_switch": ("mcp_servers_change", "mcp change"),
    "mcp_server_tools": ("mcp_servers_tools", "mcp tools"),
    "mcp_server_accept": ("mcp_servers_accept", "mcp accept"),
    "mcp_server_mode": ("mcp_servers_mode", "mcp mode"),
    "mcp_server_remove": ("mcp_servers_remove", "mcp remove"),
    "approvals_subscription_add": ("subscriptions_make", "subscription create"),
    "approvals_subscription_change": ("subscriptions_change", "subscription change"),
    "approvals_subscription_delete": ("subscriptions_remove", "subscription remove"),
}
# {page outside of the records: its command}; test_pages_and_calls finds the call of each. A page of
# a declared action has the command of the same action.
COMMANDS_OF_PAGES: Final = {
    **{page: verbs()[action.name] for page, action in pages().items()},
    "thread_new": "threads start",
    "voice": "threads start",
    "questions": "record ask",
    "thread_fork": "threads fork",
    "thread_rollback": "threads rollback",
    "thread_edit": "threads edit",
    "threads_many": "threads many",
    "thread_settle": "threads settle",
    "thread_code": "threads code",
    "thread_cancel": "threads cancel",
    "thread_input": "threads input",
    "thread_signal": "threads signal",
    "thread_reveal": "threads reveal",
    "thread_verify": "verify",
    "thread_erase": "erase request",
    "erasure": "erase approve",
    "view_new": "view save",
    "view": "view change",
    "view_remove": "view remove",
    "own_password": "changepassword",
    "sign_in_end": "user sign-out",
    "sign_ins_end_others": "user sign-out",
    "access_change_confirm": "access confirm",
    "identity_confirm": "hook confirm",
    "access_change_refuse": "access refuse",
    "approvals_decide": "approve",
    "approval_decide": "approve",
    "approval_take_back": "approve",
}
# Pages without a command, each with its reason.
BY_PERSON: Final = {
    "second_factor_add": "needs an authenticator app beside it",
    "second_factor_remove": "needs a code of the app; `user remove-second-factor` needs none",
    "passkey_remove": "needs the password; `user remove-second-factor` removes all of them",
    "device_add": "a browser makes the keys of its own device",
}
MISSING: Final = {
    # A workspace is made by superusers, whose right no token carries.
    "checkpoints_workspace_add",
}


@pytest.mark.requirement("D06")
def test_every_page_of_the_records_has_its_call_and_command() -> None:
    changing = set(ADMIN) | ROOT
    assert set(PAIRS) == changing, "a new page names its call and command here"
    calls, commands = set(operations()), set(COMMANDS) | set(HOST)
    for page, (call, command) in PAIRS.items():
        assert call in calls or page in MISSING, f"{page} has no call {call}"
        assert command in commands, f"{page} has no command {command}"
    assert {page for page, pair in PAIRS.items() if "-" in pair} == MISSING
    # Forms that do several things: the same one switches a rule off; holds stand beside erasures.
    assert {"retention_list", "holds_list", "threads_hold", "threads_lift_hold"} <= calls
    assert {"retention off", "erase hold", "erase lift"} <= commands


@pytest.mark.requirement("D06")
def test_every_other_page_has_its_command() -> None:
    assert {*COMMANDS_OF_PAGES, *BY_PERSON} == set(FORMS), "a new page names its command here"
    known = set(COMMANDS) | set(HOST)
    assert {p: c for p, c in COMMANDS_OF_PAGES.items() if c not in known} == {}
