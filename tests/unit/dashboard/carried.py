"""Capsules as tests carry them: out, away from here, in again; and the thread that travels."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection

from approvals import capsules as requests
from checkpoints import queries, store
from tests.unit.checkpoints.builders import rows


def run(name: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """(exit code, JSON answer, what was said beside it)."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(name, *arguments, "--json", stdout=out, stderr=err)
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    return code, json.loads(out.getvalue() or "{}"), err.getvalue()


def export(thread: UUID, to: Path, *more: str, who: str = "carrier") -> Path:
    code, output, errors = run("export", str(thread), "--to", str(to), "--as", who, *more)
    assert code == 0, errors
    return Path(output["file"])


def brought(capsule: Path, *more: str, who: str = "carrier") -> dict[str, Any]:
    code, output, errors = run("import", str(capsule), "--as", who, *more)
    assert code == 0, errors
    return output


TABLES = (
    *("gp_event", "gp_checkpoint", "gp_content", "gp_activity", "gp_approval", "gp_decision"),
    "gp_artifact",
)


def empty(*, agents: bool = True) -> None:
    """An installation without any of this: everything is taken out, past all guards."""
    gone = (*TABLES, "gp_keyframe", "gp_wake", "gp_verification", "gp_thread")
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for table in (*gone, *(("gp_agent_announcement", "gp_agent_version") if agents else ())):
            cursor.execute(f"DELETE FROM {table}")
        cursor.execute("SET session_replication_role = DEFAULT")


def another_workspace(name: str = "there") -> UUID:
    workspace = store.create_workspace(name, actor="user:0")
    user = get_user_model()._default_manager.get(username="carrier")
    store.grant(workspace, user.pk, "operator", actor="user:0")
    # People act where they belong longest: leave the former ones.
    for former, _, role in queries.memberships(user.pk):
        if former != workspace:
            store.withdraw(former, user.pk, role, actor="user:0")
    return workspace


def everything(thread: UUID) -> dict[str, list[Any]]:
    """All history rows of a thread, without the workspace."""
    return {
        "events": list(queries.event_rows(thread)),
        "checkpoints": list(queries.checkpoint_rows(thread)),
        "contents": rows(
            "SELECT sha256, body FROM gp_content WHERE thread_id = %s ORDER BY 1", [thread]
        ),
        "activities": list(queries.activity_rows(thread)),
        "approvals": list(requests.approval_rows(thread)),
        "decisions": list(requests.decision_rows(thread)),
    }
