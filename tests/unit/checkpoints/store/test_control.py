"""What people do to a thread, from every status: it happens, or it is refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import (
    ConcurrentModificationError,
    InvalidValue,
    LeaseLost,
    NotAllowedNow,
    NotFound,
    StaleVersion,
)
from checkpoints.states import EDITABLE, STOPS_AHEAD, EventKind, Status
from checkpoints.store import NewEvent
from tests.unit.checkpoints.builders import (
    OPERATOR,
    Driver,
    acquired,
    bring_to,
    drive,
    head_of,
    kinds_of,
    make_thread,
    make_workspace,
    one,
    rows,
    status_of,
)

pytestmark = pytest.mark.django_db
S, K = Status, EventKind
DECIDED = NewEvent(K.APPROVAL_DECIDED, {"approval": "a"}, OPERATOR)

VERBS: dict[str, Callable[..., Any]] = {
    "resume": store.resume,
    "retry": store.retry,
    "cancel": store.cancel,
    "edit": lambda thread, **more: store.edit(thread, changes={"total": 1}, reason="", **more),
}


def version_of(thread: UUID) -> int:
    row: int = one("SELECT version FROM gp_thread WHERE id = %s::uuid", (thread,))
    return row


def row_of(thread: UUID) -> str:
    row: str = one("SELECT x::text FROM gp_thread x WHERE id = %s::uuid", (thread,))
    return row


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("status", Status)
def test_a_refused_verb_says_why_and_writes_nothing(status: Status) -> None:
    thread = make_thread()
    bring_to(thread, status)
    before, log = row_of(thread), kinds_of(thread)
    possible = {
        "resume": {S.PAUSED},
        "retry": {S.FAILED, S.ATTENTION},
        "cancel": set(Status) - {S.SUCCEEDED, S.CANCELLED, S.ROLLING_BACK},
        "edit": set(EDITABLE),
    }
    refused = 0
    for name, verb in VERBS.items():
        if status in possible[name]:
            continue
        with pytest.raises(NotAllowedNow, match=f"while the thread is {status}") as caught:
            verb(thread, actor=OPERATOR)
        assert caught.value.facts["status"] == status
        refused += 1
    if status not in STOPS_AHEAD:
        with pytest.raises(NotAllowedNow):
            store.pause(thread, actor=OPERATOR, before_node="publish")
    if status not in {S.QUEUED, S.RUNNING, S.WAITING, S.SLEEPING, S.PAUSED}:
        with pytest.raises(NotAllowedNow):
            store.pause(thread, actor=OPERATOR)
    assert refused
    assert row_of(thread) == before
    assert kinds_of(thread) == log


def test_an_unknown_thread_is_not_found() -> None:
    for verb in VERBS.values():
        with pytest.raises(NotFound):
            verb(uuid4(), actor=OPERATOR)
    for before_node in ("", "publish"):
        with pytest.raises(NotFound):
            store.pause(uuid4(), actor=OPERATOR, before_node=before_node)
    assert not store.wake(uuid4(), event=DECIDED)
    assert not store.add_event(uuid4(), DECIDED)


# --- versions ---------------------------------------------------------------------------------


@pytest.mark.requirement("C28")
@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("resume", S.PAUSED),
        ("retry", S.FAILED),
        ("cancel", S.WAITING),
        ("edit", S.PAUSED),
        ("pause", S.QUEUED),
    ],
)
def test_a_verb_on_an_old_version_is_refused_with_the_hint_to_reload(
    name: str, status: Status
) -> None:
    verb = VERBS.get(name, store.pause)
    thread = make_thread()
    bring_to(thread, status)
    now = version_of(thread)
    before = row_of(thread)
    for old in (now - 1, now + 1, 0):
        with pytest.raises(ConcurrentModificationError, match="reload and retry") as caught:
            verb(thread, actor=OPERATOR, expected_version=old)
        assert isinstance(caught.value, StaleVersion)
        assert caught.value.facts["version"] == now
    assert row_of(thread) == before
    verb(thread, actor=OPERATOR, expected_version=now)
    assert version_of(thread) == now + 1
    with pytest.raises(ConcurrentModificationError):
        verb(thread, actor=OPERATOR, expected_version=now)


def test_the_errors_of_a_lost_race_are_one_family() -> None:
    assert issubclass(StaleVersion, ConcurrentModificationError)
    assert issubclass(LeaseLost, ConcurrentModificationError)
    assert "reload and retry" in StaleVersion().message
    assert "reload and retry" in ConcurrentModificationError().message


def test_an_old_version_is_named_even_where_the_status_refuses_too() -> None:
    thread = make_thread()
    bring_to(thread, S.PAUSED)
    seen = version_of(thread)
    store.resume(thread, actor=OPERATOR)
    with pytest.raises(StaleVersion):
        store.resume(thread, actor=OPERATOR, expected_version=seen)


# --- pause ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [S.QUEUED, S.WAITING, S.SLEEPING])
def test_a_thread_that_nobody_works_on_pauses_at_once(status: Status) -> None:
    thread = make_thread()
    bring_to(thread, status)
    assert store.pause(thread, actor=OPERATOR) == "paused"
    assert status_of(thread) is S.PAUSED
    assert store.pause(thread, actor=OPERATOR) == "paused"  # asked twice, logged once
    assert kinds_of(thread).count("thread.paused") == 1
    store.resume(thread, actor=OPERATOR)
    [row] = rows("SELECT status, status_reason, wish, waiting_on, wake_at FROM gp_thread")
    assert row == ("queued", "", "", None, None)


def test_a_working_thread_pauses_at_its_next_step() -> None:
    thread = make_thread()
    driver = drive(thread, 1)
    assert store.pause(thread, actor="user:2") == "requested"
    assert store.pause(thread, actor="user:3") == "requested"
    assert status_of(thread) is S.RUNNING
    assert kinds_of(thread).count("pause.requested") == 1
    driver.step()  # the paid step is not thrown away
    assert (driver.work.wish, driver.work.wish_by) == ("pause", "user:2")
    driver.step(leave_by=K.THREAD_PAUSED)
    assert (status_of(thread), one("SELECT wish FROM gp_thread")) == (S.PAUSED, "")
    store.resume(thread, actor=OPERATOR)
    assert acquired(thread).number == 3


@pytest.mark.parametrize("status", sorted(S))
def test_a_thread_is_renamed_in_any_status_and_goes_on(status: Status) -> None:
    thread = make_thread()
    bring_to(thread, status)
    version = version_of(thread)
    former = one("SELECT title FROM gp_thread WHERE id = %s", (thread,))
    store.rename(thread, title="Invoices of October", actor="user:2", current=former)
    assert (status_of(thread), version_of(thread)) == (status, version + 1)
    assert one("SELECT title FROM gp_thread WHERE id = %s", (thread,)) == "Invoices of October"
    assert kinds_of(thread)[-1] == "thread.renamed"
    with pytest.raises(StaleVersion, match="meanwhile: “Invoices of October”"):
        store.rename(thread, title="late", actor="user:3", current=former)
    with pytest.raises(StaleVersion):
        store.rename(thread, title="late", actor="user:3", expected_version=version)
    with pytest.raises(InvalidValue):
        store.rename(thread, title="x" * 301, actor="user:3")
    assert verify_thread(thread).intact


def test_the_worker_of_a_renamed_thread_keeps_its_lease_and_a_forged_title_is_found() -> None:
    thread = make_thread()
    driver = drive(thread, 1)
    store.rename(thread, title="Invoices of October", actor="user:2")
    driver.step()
    assert verify_thread(thread).intact
    forge = "UPDATE gp_thread SET title = 'Invoices of May' WHERE id = %s RETURNING 1"
    assert rows(forge, (thread,))
    assert "the thread's title" in verify_thread(thread).what


@pytest.mark.parametrize("before_node", ["", "publish"])
@pytest.mark.parametrize("status", [S.QUEUED, S.RUNNING])
def test_a_pause_of_an_old_version_is_refused_too(status: Status, before_node: str) -> None:
    thread = make_thread()
    bring_to(thread, status)
    before = row_of(thread)
    with pytest.raises(StaleVersion):
        store.pause(thread, actor=OPERATOR, before_node=before_node, expected_version=77)
    assert row_of(thread) == before


@pytest.mark.parametrize("status", sorted(STOPS_AHEAD))
def test_a_pause_before_a_node_is_noted_and_logged(status: Status) -> None:
    thread = make_thread()
    bring_to(thread, status)
    assert store.pause(thread, actor=OPERATOR, before_node="publish") == "requested"
    assert status_of(thread) is status
    assert one("SELECT pause_at FROM gp_thread") == "publish"
    assert kinds_of(thread)[-1] == "pause.requested"
    with pytest.raises(InvalidValue):
        store.pause(thread, actor=OPERATOR, before_node="n" * 101)


# --- resume, retry, cancel --------------------------------------------------------------------


@pytest.mark.parametrize("status", [S.FAILED, S.ATTENTION])
def test_retry_goes_on_from_the_head(status: Status) -> None:
    thread = make_thread()
    store.hand_back(drive(thread, 2).work, reason="")
    bring_to(thread, status)
    head = head_of(thread)
    store.retry(thread, actor=OPERATOR)
    [row] = rows("SELECT status, status_reason, crash_count FROM gp_thread")
    assert row == ("queued", "", 0)
    work = acquired(thread)
    assert (work.head, work.number) == (head, 2)


def test_cancel_takes_the_thread_away_from_its_worker() -> None:
    thread = make_thread()
    driver = drive(thread, 1)
    store.cancel(thread, actor=OPERATOR, reason="no longer needed")
    assert status_of(thread) is S.CANCELLED
    [row] = rows("SELECT lease_token, lease_owner, lease_until FROM gp_thread")
    assert row == (None, "", None)
    with pytest.raises(LeaseLost):
        driver.step()
    event = queries.events(thread).rows[0]
    assert (event.kind, event.actor, event.data) == (
        "thread.cancelled",
        OPERATOR,
        {"reason": "no longer needed"},
    )


# --- edit -------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", sorted(EDITABLE))
def test_an_edit_is_a_checkpoint_by_a_person(status: Status) -> None:
    thread = make_thread()
    store.hand_back(drive(thread, 2).work, reason="")
    bring_to(thread, status)
    head, version = head_of(thread), version_of(thread)
    ident = store.edit(thread, changes={"total": 7, "new": [1]}, reason="typo", actor="user:9")
    assert ident == head_of(thread)
    row = queries.checkpoint(thread, ident)
    assert (row.source, row.parent, row.number, row.step, row.created_by) == (
        "edit", head, 3, 2, "user:9",
    )  # fmt: skip
    assert row.next_nodes == ("work",)
    assert queries.state_at(thread, ident) == {
        "goal": "count", "log": [1, 2], "facts": {}, "total": 7, "new": [1],
    }  # fmt: skip
    assert queries.state_at(thread, head)["total"] == 0
    assert version_of(thread) == version + 1
    stays = status if status in {S.ATTENTION, S.FAILED} else S.PAUSED
    assert status_of(thread) is stays
    assert kinds_of(thread)[-2:] == ["state.edited", "checkpoint.committed"]
    assert queries.events(thread, kinds=["state.edited"]).rows[0].data == {
        "changed": ["new", "total"],
        "reason": "typo",
    }
    # The worker goes on with what the person wrote.
    (store.resume if stays is S.PAUSED else store.retry)(thread, actor=OPERATOR)
    driver = Driver(acquired(thread))
    assert driver.state["total"] == 7
    driver.step()
    assert (driver.work.number, driver.work.step) == (4, 3)
    assert verify_thread(thread).intact


def test_an_edit_of_a_bad_value_is_refused_with_its_path() -> None:
    thread = make_thread()
    bring_to(thread, S.PAUSED)
    before = row_of(thread)
    for changes, path in (
        ({"total": float("inf")}, "$.total"),
        ({"facts": {"a": ["\0"]}}, "$.facts.a[0]"),
        ({"goal": "x" * 8_400_000}, "$"),
    ):
        with pytest.raises(InvalidValue) as caught:
            store.edit(thread, changes=changes, reason="", actor=OPERATOR)
        assert caught.value.path == path
    assert row_of(thread) == before


def test_an_edit_between_reading_and_writing_of_another_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a version as well: nobody writes over what they have not seen."""
    from checkpoints.store import edits

    thread = make_thread()
    bring_to(thread, S.PAUSED)
    known_digests = edits.known_digests

    def slowly(*args: Any) -> Any:
        monkeypatch.undo()
        result = known_digests(*args)
        store.edit(thread, changes={"total": 1}, reason="", actor="user:2")
        return result

    monkeypatch.setattr(edits, "known_digests", slowly)
    with pytest.raises(StaleVersion):
        store.edit(thread, changes={"goal": "mine"}, reason="", actor="user:3")
    assert queries.state_at(thread, head_of(thread))["total"] == 1
    assert kinds_of(thread).count("state.edited") == 1


# --- wake -------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", Status)
def test_news_queues_who_waits_and_is_kept_for_all_others(status: Status) -> None:
    thread = make_thread()
    bring_to(thread, status)
    before = one("SELECT wake_seq FROM gp_thread")
    assert store.wake(thread, event=DECIDED)
    after = S.QUEUED if status in {S.WAITING, S.SLEEPING} else status
    [row] = rows("SELECT status, wake_seq FROM gp_thread")
    assert row == (after, before + 1)
    assert kinds_of(thread)[-1] == "approval.decided"
    if status is S.WAITING:
        assert one("SELECT waiting_on FROM gp_thread") is None
        assert acquired(thread).wake_seq == before + 1


def test_who_has_news_does_not_fall_asleep_over_it() -> None:
    thread = make_thread()
    driver = drive(thread, 1)
    store.wake(thread, event=DECIDED)
    assert not store.leave(driver.work, K.THREAD_SUSPENDED, unless_woken=True)
    assert status_of(thread) is S.RUNNING
    assert driver.work.wake_seq == 1
    driver.step()  # once more round, with the lease it still has
    assert store.leave(driver.work, K.THREAD_SUSPENDED, unless_woken=True)
    assert status_of(thread) is S.WAITING


def test_sleepers_wake_when_their_time_has_come() -> None:
    early, late = make_thread(), make_thread()
    for ident, seconds in ((early, 0.0), (late, 3600.0)):
        store.leave(acquired(ident), K.THREAD_SLEPT, wake_at_seconds=seconds)
    assert store.wake_sleepers(owner="sweep") == 1
    assert store.wake_sleepers(owner="sweep") == 0
    assert (status_of(early), status_of(late)) == (S.QUEUED, S.SLEEPING)
    assert kinds_of(early)[-1] == "thread.woken"
    assert acquired(early).status is S.RUNNING


def test_a_guarded_event_is_written_or_not() -> None:
    thread = make_thread()
    assert store.add_event(thread, DECIDED, guard="th.status = 'queued'")
    assert not store.add_event(thread, DECIDED, guard="th.status = 'paused'")
    assert kinds_of(thread) == ["thread.started", "approval.decided"]


def test_signals_tell_of_every_change_and_of_what_a_worker_should_take(
    django_capture_on_commit_callbacks: Any,
) -> None:
    from checkpoints.signals import thread_changed, thread_queued

    heard: list[str] = []

    def changed(**news: Any) -> None:
        heard.append(f"changed {news['seq']}")

    def queued(**news: Any) -> None:
        heard.append("queued")

    workspace = make_workspace()
    thread_changed.connect(changed)
    thread_queued.connect(queued)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            thread = make_thread(workspace=workspace)
        with django_capture_on_commit_callbacks(execute=True):
            store.pause(thread, actor=OPERATOR)
        with django_capture_on_commit_callbacks(execute=True):
            store.resume(thread, actor=OPERATOR)
        with django_capture_on_commit_callbacks(execute=True):
            driver = drive(thread, 1)
        with django_capture_on_commit_callbacks(execute=True), pytest.raises(NotAllowedNow):
            store.resume(thread, actor=OPERATOR)
        with django_capture_on_commit_callbacks(execute=True):
            store.hand_back(driver.work, reason="time slice")
    finally:
        thread_changed.disconnect(changed)
        thread_queued.disconnect(queued)
    assert heard == [
        "queued", "changed 1", "changed 2", "queued", "changed 3", "changed 4", "changed 5",
        "queued", "changed 6",
    ]  # fmt: skip
