"""Indexes that no statement reads go: another one begins with the same columns."""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

drop = import_module("checkpoints.migrations.0031_unused_indexes").drop
UNUSED = {
    "gp_approval_thread": "gp_approval (thread_id, requested_at)",
    "gp_delivery_endpoint_id_2634dd98": "gp_delivery (endpoint_id)",
    "gp_hook_delivery_hook_id_63e9fb1b": "gp_hook_delivery (hook_id)",
    "gp_hook_identity_hook_id_cf5c9cf4": "gp_hook_identity (hook_id)",
    "gp_outbox_stuck": "gp_outbox (thread_id) WHERE kind = 'thread.stuck'",
    "gp_policy_version_policy_id_c7adbfff": "gp_policy_version (policy_id)",
    "outbox_work_waiting": "gp_outbox (thread_id, at) WHERE kind = 'thread.work_waiting'",
}


def _of(model):
    return models.ForeignKey(
        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=model, db_index=False
    )


class Migration(migrations.Migration):
    atomic = False  # concurrently
    dependencies = [
        ("approvals", "0012_blocking_policies"),
        ("checkpoints", "0031_unused_indexes"),
    ]
    operations = [
        drop(
            UNUSED,
            [
                migrations.RemoveIndex("approval", "gp_approval_thread"),
                migrations.RemoveIndex("news", "gp_outbox_stuck"),
                migrations.RemoveIndex("news", "outbox_work_waiting"),
                migrations.AlterField("delivery", "endpoint", _of("approvals.endpoint")),
                migrations.AlterField("hookdelivery", "hook", _of("approvals.hook")),
                migrations.AlterField("hookidentity", "hook", _of("approvals.hook")),
                migrations.AlterField("policyversion", "policy", _of("approvals.policy")),
            ],
        )
    ]
