"""Each part of the sweep is guarded row by row: one that fails, or is held, stops no other."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from approvals import gates
from approvals.policies.budgets import announce_budgets
from approvals.verification import proof
from checkpoints import queries, store
from checkpoints.chain.workspaces import verify_workspace
from checkpoints.memories import NewMemory
from checkpoints.store.overview import figures
from dashboard.administration.retention import SetRetention, set_retention
from dashboard.records.background import retention, verification
from tests.support.cast import admin_of
from tests.unit.checkpoints.builders import make_agent, make_thread, make_workspace, rows
from tests.unit.checkpoints.store.overview.test_budgets import set_budget, spend
from workers.slot import sweep

from .test_sweep_rows import KINDS, locked, refusing

TESTS = Path(__file__).parents[3]
FOUR = 4


@dataclass(frozen=True)
class Alone:
    """A part of the sweep whose rows have no thread of their own to hold."""

    part: str
    make: Callable[[], tuple[UUID, UUID]]  # (the row, whose write is refused)
    handled: Callable[[UUID], bool]
    refused: tuple[str, str]  # (table, column)
    held: tuple[str, str] = ("", "")  # a table and its key that somebody else may hold
    run: Callable[[], int] = field(default=lambda: 0)


def _erasable() -> tuple[UUID, UUID]:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    store.cancel(thread, actor="user:1")
    row = store.request_erasure(
        thread, workspace=workspace, scope="thread", reason="asked", actor="user:1", name="Ada"
    )
    store.decide_erasure(
        row.id, workspace=workspace, approve=True, actor="user:2", name="Adam", comment=""
    )
    return row.id, thread


def _budget() -> tuple[UUID, UUID]:
    workspace = make_workspace()
    row = set_budget(workspace)
    spend(workspace, "9")
    return row.id, row.id


def _past_days() -> tuple[UUID, UUID]:
    workspace = make_workspace()
    return workspace, workspace


def _past_threads() -> tuple[UUID, UUID]:
    workspace = make_workspace()
    rows(
        "UPDATE gp_thread SET created_at = clock_timestamp() - interval '2 days' "
        "WHERE id = %s RETURNING 1",
        (make_thread(workspace=workspace),),
    )
    return workspace, workspace


def _outdated() -> tuple[UUID, UUID]:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace, agent=make_agent("research"))
    store.cancel(thread, actor="user:1")
    set_retention(admin_of(workspace), SetRetention(agent="research", days=1))
    rows(
        "UPDATE gp_thread SET status_since = clock_timestamp() - interval '9 days' "
        "WHERE id = %s RETURNING 1",
        (thread,),
    )
    return thread, thread


def _is_there(table: str, column: str) -> Callable[[UUID], bool]:
    sql = f"SELECT EXISTS (SELECT 1 FROM {table} WHERE {column} = %s)"
    return lambda row: bool(rows(sql, (row,))[0][0])


def _is_erased(erasure: UUID) -> bool:
    return rows("SELECT state FROM gp_erasure WHERE id = %s", (erasure,)) == [("done",)]


def _expired() -> tuple[UUID, UUID]:
    workspace = make_workspace()
    new = NewMemory("workspace", "", "fact", "The code is 1234.", source="person", seconds=0.001)
    return store.remember(workspace, new, actor="user:1").id, workspace


def _is_gone(memory: UUID) -> bool:
    return rows("SELECT gone_at IS NOT NULL FROM gp_memory WHERE id = %s", (memory,)) == [(True,)]


ALONE = [
    Alone("erased", _erasable, _is_erased, ("gp_erased", "id"), ("gp_thread", "id"),
          store.carry_on_erasures),
    Alone("budgets", _budget, _is_there("gp_budget_band", "budget_id"),
          ("gp_budget_band", "budget_id"), run=lambda: announce_budgets(owner="worker:1")),
    Alone("figures", _past_threads, _is_there("gp_folded_unit", "workspace_id"),
          ("gp_folded_unit", "workspace_id"), run=store.fold_due),
    Alone("decisions", _past_days, _is_there("gp_decided_until", "workspace_id"),
          ("gp_decided_until", "workspace_id"), run=gates.fold_decisions),
    Alone("retired", _outdated, _is_there("gp_erased", "id"), ("gp_erasure", "thread_id"),
          ("gp_thread", "id"), retention.apply_rules),
    Alone("memories", _expired, _is_gone, ("gp_memory", "workspace_id"), ("gp_workspace", "id"),
          lambda: store.forget_expired_memories(actor="worker:1")),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALONE, ids=lambda kind: kind.part)
def test_all_others_go_on_beside_a_failing_one(
    real_db: str, monkeypatch: pytest.MonkeyPatch, kind: Alone
) -> None:
    monkeypatch.setattr(figures, "MOST_SECONDS", 60.0)
    for index in (0, -1):  # in whatever order they come, once it is not the last
        due = [kind.make() for _ in range(FOUR)]
        failing = due[index]
        others = [row for row, _ in due if row != failing[0]]
        with refusing(*kind.refused, failing[1]):
            for _ in range(12):
                kind.run()
                if all(map(kind.handled, others)):
                    break
            assert not kind.handled(failing[0])
            assert all(map(kind.handled, others)), kind.part
            [aside] = queries.rows_set_aside()
            assert (aside.part, aside.row) == (kind.part, failing[0])
            assert "a row that nobody foresaw" in aside.error
        rows("UPDATE gp_set_aside SET next_at = clock_timestamp()")
        kind.run()
        assert kind.handled(failing[0])
        assert queries.rows_set_aside() == []
    for (workspace,) in rows("SELECT id FROM gp_workspace"):
        assert verify_workspace(workspace).intact


@pytest.mark.slow
@pytest.mark.parametrize("kind", [k for k in ALONE if k.held[0]], ids=lambda kind: kind.part)
def test_all_others_go_on_beside_one_that_is_held(real_db: str, kind: Alone) -> None:
    due = [kind.make() for _ in range(FOUR)]
    held = due[1]
    with locked(kind.held[0], held[1], kind.held[1]):
        kind.run()
        assert [kind.handled(row) for row, _ in due] == [True, False, True, True]
        assert queries.rows_set_aside() == []
    kind.run()
    assert kind.handled(held[0])


def test_a_thread_at_which_verifying_fails_keeps_no_other_waiting(
    real_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_workspace()
    threads = [make_thread(workspace=workspace) for _ in range(FOUR)]
    verify = proof.verify_in_slices

    def hostile(thread: UUID) -> Any:
        if thread == threads[1]:
            raise KeyError("a form that nobody foresaw")
        return verify(thread)

    monkeypatch.setattr(proof, "verify_in_slices", hostile)
    for _ in verification.verify_everything(owner="worker:1", every_seconds=60):
        pass
    verified = {ident for (ident,) in rows("SELECT thread_id FROM gp_verification")}
    assert verified == {thread for thread in threads if thread != threads[1]}
    [aside] = queries.rows_set_aside()
    assert (aside.part, aside.row) == ("verified", threads[1])


# Each other part of the sweep: what guards its rows, and the test that shows it.
ELSEWHERE = {
    "hot store": "notify/test_hot_store_alarm.py::test_the_sweep_looks",
    "hot steps": "notify/test_hot_steps.py::test_a_short_lag_is_no_alarm_and_no_word_on_the_board",
    "shortened": "slot/test_clock.py::test_a_locked_thread_keeps_no_lease_too_long",
    "rung": "slot/test_sweep_rows.py::test_no_doorbell_is_rung_for_a_locked_thread",
    "messages": "slot/test_ephemeral.py::test_the_sweep_finds_messages_that_nobody_took",
    "utterances": "store/test_utterances.py::test_one_buffer_that_fails_keeps_no_other_waiting",
    "indexed": "store/test_history_index.py::test_an_event_that_cannot_be_read_is_left_out",
    "stopped": "installation/test_breakers.py::test_a_trip_writes_to_no_thread_but_those_at_work",
    "stuck": "installation/test_stuck.py::test_the_walk_over_the_waiting_comes_to_each",
    "waiting": "external/test_news.py::test_work_that_waits_is_told_once",
    "wanted": "notify/test_wanted_workers.py::test_each_queue_is_announced_by_itself",
    "incidents": "incidents/test_incidents.py::"
    "test_a_row_that_fails_is_set_aside_and_named_and_the_others_go_on",
    "folders": "payloads/test_folders_waiting.py::"
    "test_the_first_refusal_of_the_storage_ends_the_round_damage_does_not",
    "forgotten": "slot/test_sweep_rows.py::test_a_row_that_fails_again_waits_longer_each_time",
    "verified": "slot/test_sweep_alone.py::"
    "test_a_thread_at_which_verifying_fails_keeps_no_other_waiting",
    "anchored": "anchors/test_sender.py::test_one_destination_that_fails_keeps_no_other_waiting",
}


@pytest.mark.django_db
def test_every_part_of_the_sweep_is_shown_to_go_on() -> None:
    parts = set(sweep.sweep_once(owner="worker:test:1:0"))
    shown = {kind.part for kind in KINDS} | {kind.part for kind in ALONE}
    assert parts == shown | ELSEWHERE.keys()
    assert not shown & ELSEWHERE.keys()
    for test in ELSEWHERE.values():
        file, _, name = test.partition("::")
        [path] = [p for p in TESTS.rglob(file.rpartition("/")[2]) if str(p).endswith(file)]
        assert re.search(rf"^def {name}", path.read_text(), re.MULTILINE), test
