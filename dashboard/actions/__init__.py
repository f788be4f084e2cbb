"""Every change a person makes: browser, API and commands all come through here.

Each action checks the person's rights first, then that the thing lies in their workspace, then
calls the floors below; errors of those come out as ActionError. Database errors pass through.
"""

from dashboard.identity.permissions import RIGHTS, Actor, Allowance, actor_of, allowed_actions, may
from dashboard.people.accounts.access_changes import (
    confirm_access_change,
    list_access_changes,
    refuse_access_change,
)
from dashboard.people.accounts.users import (
    edit_user,
    end_token,
    link_user,
    list_tokens,
    list_users,
    make_user,
    set_user_password,
)
from dashboard.people.own_password import change_own_password
from dashboard.people.second_factor import (
    add_second_factor,
    confirm_by_code,
    passkeys,
    propose_second_factor,
    remove_factor_of,
    remove_passkey,
    remove_second_factor,
    require_factor,
    required_factor,
    second_factor,
)
from dashboard.people.sign_ins import (
    confirm_sign_in,
    end_other_sign_ins,
    end_sign_in,
    list_sign_ins,
    sign_out_user,
)

from .mcp_servers import (
    accept_mcp_tools,
    add_mcp_server,
    change_mcp_server,
    list_mcp_tools,
    mcp_server,
    mcp_servers,
    remove_mcp_server,
    set_mcp_tool_mode,
)
from .policies import edit_policy, make_policy, preview_policy, try_policy
from .uploads import check_upload_size, upload

__all__ = [
    "RIGHTS",
    "Actor",
    "Allowance",
    "accept_mcp_tools",
    "actor_of",
    "add_mcp_server",
    "add_second_factor",
    "allowed_actions",
    "change_mcp_server",
    "change_own_password",
    "check_upload_size",
    "confirm_access_change",
    "confirm_by_code",
    "confirm_sign_in",
    "edit_policy",
    "edit_user",
    "end_other_sign_ins",
    "end_sign_in",
    "end_token",
    "link_user",
    "list_access_changes",
    "list_mcp_tools",
    "list_sign_ins",
    "list_tokens",
    "list_users",
    "make_policy",
    "make_user",
    "may",
    "mcp_server",
    "mcp_servers",
    "passkeys",
    "preview_policy",
    "propose_second_factor",
    "refuse_access_change",
    "remove_factor_of",
    "remove_mcp_server",
    "remove_passkey",
    "remove_second_factor",
    "require_factor",
    "required_factor",
    "second_factor",
    "set_mcp_tool_mode",
    "set_user_password",
    "sign_out_user",
    "try_policy",
    "upload",
]
