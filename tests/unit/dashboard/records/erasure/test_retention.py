"""Rules erase what is due by them, name themselves, and leave everything else."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from django.core.files.storage import default_storage
from django.db import connection

from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.chain.workspaces import verify_workspace
from checkpoints.queries.erasures import requests
from dashboard.administration.retention import SET, SetRetention
from dashboard.errors import Forbidden, Invalid
from dashboard.kit.action import read
from dashboard.records.background import retention
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import head_of, rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.people.test_people_as_code import answer, call

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G02")]


def ended(cast: Cast, *, days: float, agent: str = "research") -> UUID:
    """A cancelled thread that ended so many days ago."""
    thread = scene.start(cast.workspace, scene.make_agent(agent))
    store.cancel(thread, actor="user:1")
    age(thread, days)
    return thread


def age(thread: UUID, days: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_thread SET status_since = clock_timestamp() - make_interval(secs => %s) "
            "WHERE id = %s",
            (days * 86_400, thread),
        )


def erased(cast: Cast) -> set[UUID]:
    return {ident for (ident,) in rows("SELECT id FROM gp_erased")}


def test_a_rule_erases_what_is_due_and_is_named(cast: Cast) -> None:
    old, young = ended(cast, days=31), ended(cast, days=29)
    other = ended(cast, days=31, agent="payments")
    admin = cast.actor("admin")
    assert SET.plan(admin, SetRetention(agent="research", days=30)).model_dump() == {"due": 1}
    SET.run(admin, SetRetention(agent="research", days=30))
    assert retention.apply_rules() == 1
    assert erased(cast) == {old}
    report = verify(old)
    assert report.intact, report.what
    assert report.erased == (
        "Erased by a retention rule: Retention rule: threads of research, 30 days after their end"
    )
    row = queries.thread(old, workspace=cast.workspace)
    (rule,) = rows("SELECT id FROM gp_retention_rule")[0]
    assert row.erased is not None
    assert row.erased.rule == rule
    # All agents without a rule of their own.
    SET.run(admin, SetRetention(days=30))
    assert retention.apply_rules() == 1
    assert erased(cast) == {old, other}
    assert retention.apply_rules() == 0
    assert verify(young).erased == ""
    assert verify_workspace(cast.workspace).intact


def test_holds_forks_and_rules_that_are_off_let_threads_stay(cast: Cast) -> None:
    admin = cast.actor("admin")
    held, base = ended(cast, days=40), ended(cast, days=40)
    store.set_hold(held, workspace=cast.workspace, reason="case", actor="user:1")
    fork = store.fork(base, checkpoint=head_of(base), changes={}, actor="user:1")
    SET.run(admin, SetRetention(agent="research", days=30, active=False))
    assert retention.apply_rules() == 0
    SET.run(admin, SetRetention(agent="research", days=30))
    assert retention.apply_rules() == 0
    store.cancel(fork, actor="user:1")
    assert retention.apply_rules() == 0  # it ended only now
    age(fork, 31)
    assert retention.apply_rules() >= 1
    assert erased(cast) == {base, fork}
    store.lift_hold(held, workspace=cast.workspace, reason="closed", actor="user:1")
    assert retention.apply_rules() == 1
    assert verify_workspace(cast.workspace).intact


def test_the_archive_comes_first(cast: Cast) -> None:
    thread = ended(cast, days=2)
    SET.run(cast.actor("admin"), SetRetention(agent="research", days=1, archive=True))
    assert retention.apply_rules() == 1
    path = f"archive/{cast.workspace}/{thread}.zip"
    with default_storage.open(path, "rb") as file:
        assert file.read(2) == b"PK"
    kinds = [event.kind for event in queries.workspace_events(cast.workspace).rows]
    assert kinds.index("capsule.exported") > kinds.index("thread.erased")  # the newest first
    assert requests.erasures(cast.workspace)[0].state == "done"


def _fork(cast: Cast, thread: UUID) -> None:
    fork = store.fork(thread, checkpoint=head_of(thread), changes={}, actor="user:1")
    store.cancel(fork, actor="user:1")


def _rule(cast: Cast, days: int, archive: bool, active: bool) -> None:
    SET.run(
        cast.actor("admin"),
        SetRetention(agent="research", days=days, archive=archive, active=active),
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_fork, id="a fork that has ended"),
        pytest.param(lambda cast, thread: age(thread, 0), id="ended anew"),
        pytest.param(
            lambda cast, thread: store.rename(thread, title="other", actor="user:1"), id="renamed"
        ),
        pytest.param(lambda cast, _: _rule(cast, 1, True, False), id="rule is off"),
        pytest.param(lambda cast, _: _rule(cast, 300, True, True), id="rule is longer"),
        pytest.param(
            lambda cast, thread: store.set_hold(
                thread, workspace=cast.workspace, reason="case", actor="user:1"
            ),
            id="legal hold",
        ),
    ],
)
def test_what_changes_while_it_is_archived_is_not_erased(
    cast: Cast, change: Callable[[Cast, UUID], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = ended(cast, days=2)
    _rule(cast, 1, True, True)
    archive = retention.archive

    def slow(of: UUID, workspace: UUID) -> int:
        result = archive(of, workspace)
        change(cast, of)
        return result

    monkeypatch.setattr(retention, "archive", slow)
    assert retention.apply_rules() == 0
    assert erased(cast) == set()
    assert requests.erasures(cast.workspace) == []
    assert rows("SELECT erasure FROM gp_thread WHERE id = %s::uuid", (thread,)) == [(None,)]
    assert verify(thread).intact
    assert verify_workspace(cast.workspace).intact


def test_an_agent_that_gets_a_rule_of_its_own_meanwhile_has_that_one(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(cast, days=2)
    SET.run(cast.actor("admin"), SetRetention(days=1, archive=True))
    archive = retention.archive

    def slow(of: UUID, workspace: UUID) -> int:
        _rule(cast, 300, False, True)
        return archive(of, workspace)

    monkeypatch.setattr(retention, "archive", slow)
    assert retention.apply_rules() == 0
    assert erased(cast) == set()


def test_by_command_with_a_floor_of_a_day(cast: Cast) -> None:
    ended(cast, days=31)
    assert answer("retention", "set", "30", "--agent", "research", "--preview") == {"due": 1}
    made = answer("retention", "set", "30", "--agent", "research", "--archive", "--yes")
    assert (made["days"], made["archive"], made["active"]) == (30, True, True)
    assert answer("retention", "off", "--agent", "research")["active"] is False
    assert [one["agent"] for one in answer("retention", "list")["results"]] == ["research"]
    assert call("retention", "off", "--agent", "nobody")[0] == 3
    with pytest.raises(Invalid, match="at least 1"):
        read(SetRetention, {"agent": "research", "days": 0})
    with pytest.raises(Forbidden):
        SET.run(cast.actor("operator"), SetRetention(agent="research", days=30))
