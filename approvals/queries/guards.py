"""Triggers that keep rows as they were written."""

from typing import Final

GUARDS: Final = {
    "gp_decision": ("gp_decision_row", "gp_decision_erasure", "gp_decision_table"),
    "gp_approval": ("gp_approval_kept", "gp_approval_table", "gp_approval_former_code"),
    "gp_policy": ("gp_policy_kept", "gp_policy_table"),
    "gp_policy_version": ("gp_policy_version_row", "gp_policy_version_table"),
    "gp_carried_out": ("gp_carried_out_row", "gp_carried_out_erasure", "gp_carried_out_table"),
    "gp_hook_delivery": (
        "gp_hook_delivery_row",
        "gp_hook_delivery_erasure",
        "gp_hook_delivery_table",
    ),
    "gp_approval_look": ("gp_approval_look_row", "gp_approval_look_table"),
}
