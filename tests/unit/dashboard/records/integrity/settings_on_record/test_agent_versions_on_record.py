"""Agent versions: a planted one and an altered one are found."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import transaction
from uuid_utils.compat import uuid7

from approvals.verification.proof import installation_damage_in_slices, verify
from checkpoints import chain, store
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.store.installation.workspaces import log_record
from checkpoints.store.statement.moves import NewEvent
from dashboard.records.integrity import column_cover
from tests.unit.checkpoints.builders import make_thread, rows

from ..altered_columns import OTHER, columns_of, unguarded  # noqa: F401
from .settled import ADMIN, broken

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("E11")]


def with_a_former_id(work: UUID) -> UUID:
    """A copy of an agent version under an id as former versions made them."""
    former = uuid7()
    columns = [name for name, _ in columns_of("gp_agent_version") if name != "id"]
    values = ["version + 1" if name == "version" else name for name in columns]
    rows(
        f"INSERT INTO gp_agent_version (id, {', '.join(columns)}) SELECT %s, {', '.join(values)} "
        "FROM gp_agent_version WHERE id = %s RETURNING 1",
        [former, work],
    )
    return former


@pytest.mark.usefixtures("unguarded")
def test_a_planted_agent_version_is_found_whatever_its_id(db: None) -> None:
    make_thread()
    ((version,),) = rows("SELECT id FROM gp_agent_version")
    with_a_former_id(version)
    message = "The version 2 of the agent 'counting' is there, and no event records it."
    assert message in broken()
    damage = chain.returned(installation_damage_in_slices())
    assert [message] == [report.what for report in damage.values()]


@pytest.mark.usefixtures("unguarded")
def test_former_agent_versions_are_on_record_as_they_stood(db: None) -> None:
    make_thread()
    ((version,),) = rows("SELECT id FROM gp_agent_version")
    former = with_a_former_id(version)
    # As a record that the code of before began: it says nothing of agent versions.
    ((workspace,),) = rows("SELECT id FROM gp_workspace")
    with transaction.atomic():
        log_record(workspace, NewEvent(K.RECORD_BEGUN, {"tables": []}, ADMIN))
    assert broken() == "", "of these nothing is proved"
    assert store.begin_record(actor=ADMIN) > 0
    assert store.begin_record(actor=ADMIN) == 0
    assert broken() == ""
    rows("UPDATE gp_agent_version SET fingerprint = 'other' WHERE id = %s RETURNING 1", [former])
    assert "of the agent 'counting' is not what stood there when the record began" in broken()


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize(
    "column",
    sorted(column_cover.proved("gp_agent_version")),
)
def test_an_altered_agent_version_is_found_in_it_and_its_threads(db: None, column: str) -> None:
    thread = make_thread()
    assert broken() == ""
    assert verify(thread).intact
    kind = dict(columns_of("gp_agent_version"))[column]
    change = OTHER[kind].format(c=column)
    with transaction.atomic():
        rows(f"UPDATE gp_agent_version SET {column} = {change} RETURNING 1")
        assert "is not what its id was made of" in broken()
        assert column == "id" or not verify(thread).intact
        transaction.set_rollback(True)
