"""The button Retry on a thread whose rollback stopped half-way says and does what it must."""

from __future__ import annotations

from checkpoints import queries, store
from checkpoints.states import EventKind, Status
from tests.support.cast import Cast
from tests.unit.dashboard import scene


def test_the_button_lets_the_rollback_go_on(cast: Cast) -> None:
    thread = scene.start(cast.workspace, scene.make_agent())
    work = scene.lease(thread)
    first = work.head
    head = scene.step(work)
    store.roll_back(thread, checkpoint=first, undo=(), reason="r", actor="user:1", head=head)
    store.leave(scene.lease(thread), EventKind.THREAD_PARKED, reason="its code is missing")
    operator = cast.client("operator")
    row = queries.thread(thread, workspace=cast.workspace)
    response = operator.post(f"/threads/{thread}/retry/", {"version": row.version}, follow=True)
    assert response.status_code == 200
    assert "The rollback continues where it stopped." in response.content.decode()
    row = queries.thread(thread, workspace=cast.workspace)
    assert row.status is Status.ROLLING_BACK
    assert queries.events_after(thread, row.last_seq - 1)[0].kind == "rollback.retried"
    assert "resumed the rollback" in response.content.decode()
