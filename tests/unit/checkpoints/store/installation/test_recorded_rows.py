"""The one writer of settings: what differs is written, with one event; nothing else is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction

from approvals.models import Hook
from checkpoints.chain import verify_workspace
from checkpoints.errors import NotFound
from checkpoints.models import RetentionRule
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.store.installation import recorded_rows
from tests.unit.checkpoints.builders import make_workspace, rows

pytestmark = pytest.mark.django_db
VALUES = {"agent": "research", "days": 30, "archive": False, "active": True, "set_by": "user:1"}


def saved(row: Any, values: dict[str, Any]) -> bool:
    with transaction.atomic():
        kind = K.RETENTION_CHANGED
        return recorded_rows.save(row, values, kind, actor="user:1", data={"rule": str(row.pk)})


def made() -> RetentionRule:
    row = RetentionRule(workspace_id=make_workspace())
    assert saved(row, VALUES)
    return row


@dataclass(frozen=True)
class Logged:
    """An event as it is stored."""

    seq: int
    kind: str
    actor: str
    data: dict[str, Any]


def newest(workspace: UUID) -> Logged:
    [row] = rows(
        "SELECT seq, kind, actor, data::text FROM gp_workspace_event WHERE workspace_id = %s "
        "ORDER BY seq DESC LIMIT 1",
        (workspace,),
    )
    return Logged(*row[:3], data=json.loads(row[3]))


def stored(row: RetentionRule) -> tuple[Any, ...]:
    [values] = rows("SELECT agent, days, archive FROM gp_retention_rule WHERE id = %s", (row.pk,))
    return values


def test_a_new_row_is_on_record_whole() -> None:
    row = made()
    event = newest(row.workspace_id)
    assert (event.kind, event.actor, event.data["rule"]) == (
        "retention.changed",
        "user:1",
        str(row.pk),
    )
    assert "columns" not in event.data
    assert event.data["rows"]["gp_retention_rule"][str(row.pk)]["days"] == "30"
    assert verify_workspace(row.workspace_id).intact


def test_only_what_differs_is_written_and_named() -> None:
    row = made()
    first = newest(row.workspace_id).seq
    assert not saved(row, VALUES)
    assert newest(row.workspace_id).seq == first
    assert saved(row, VALUES | {"days": 60})
    event = newest(row.workspace_id)
    assert (event.seq, event.data["columns"]) == (first + 1, {"gp_retention_rule": ["days"]})
    assert verify_workspace(row.workspace_id).intact


def test_an_old_copy_overwrites_nothing() -> None:
    row = made()
    old = RetentionRule.objects.get(pk=row.pk)
    assert saved(row, {"days": 60})
    assert saved(old, {"archive": True})
    assert stored(row) == ("research", 60, True)
    assert not saved(old, {"days": 60}), "its own 30 days are no reason to write"
    assert verify_workspace(row.workspace_id).intact


def test_what_is_deleted_is_gone_once() -> None:
    row = made()
    with transaction.atomic():
        recorded_rows.delete(row, K.RETENTION_CHANGED, actor="user:1", data={})
    event = newest(row.workspace_id)
    assert event.data["rows"] == {"gp_retention_rule": {str(row.pk): None}}
    with transaction.atomic(), pytest.raises(NotFound, match="no such retention rule"):
        recorded_rows.delete(row, K.RETENTION_CHANGED, actor="user:1", data={})
    with pytest.raises(NotFound, match="no such retention rule"):
        saved(row, {"days": 90})
    assert newest(row.workspace_id).seq == event.seq
    assert verify_workspace(row.workspace_id).intact


def test_a_row_of_another_workspace_is_not_found() -> None:
    row = made()
    with transaction.atomic(), pytest.raises(NotFound, match="no such retention rule"):
        recorded_rows.lock_one(RetentionRule, make_workspace(), row.pk)
    with transaction.atomic():
        assert recorded_rows.lock_one(RetentionRule, row.workspace_id, row.pk) == row
        assert recorded_rows.lock(RetentionRule, row.workspace_id, agent="other") is None


def test_secrets_are_recorded_by_their_hash() -> None:
    row = Hook(workspace_id=make_workspace(), name=f"hook-{uuid4().hex[:6]}")
    secrets = [{"secret": "whsec_hidden", "until": None}]
    with transaction.atomic():
        values = {"secrets": secrets, "made_by": "user:1"}
        recorded_rows.save(row, values, K.HOOK_CREATED, actor="user:1", data={"name": row.name})
    data = newest(row.workspace_id).data
    assert data["rows"]["gp_hook"][str(row.pk)]["secrets"].startswith("sha256:")
    assert "whsec_hidden" not in str(data)
    assert verify_workspace(row.workspace_id).intact


def test_what_is_altered_past_the_writer_is_seen() -> None:
    """Also in a column that the next honest change does not touch."""
    row = made()
    RetentionRule.objects.filter(pk=row.pk).update(days=1)
    assert saved(row, {"archive": True})
    report = verify_workspace(row.workspace_id)
    assert not report.intact
    assert "days" in report.what
