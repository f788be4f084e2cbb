"""Compiled graphs on real workers: killed with signal 9, forked and rolled back by the API."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from uuid import UUID

from tests.contract.clients.bench import Server
from tests.faults.bench import LEASE, SWEEP, Case

GOES_ON = LEASE + SWEEP + 20
GOAL = [{"role": "user", "content": "My kettle is broken."}]


def kill(case: Case) -> None:
    os.kill(case.holder(), signal.SIGKILL)


def test_a_tool_call_that_finished_is_not_repeated_after_a_kill(
    server: Server, start: Callable[..., Case]
) -> None:
    case = start("shop", messages=GOAL, hold=("find-2",))
    case.wait_called("find-1")
    case.wait_called("find-2")
    case.wait_event("activity.finished", 3)  # the start, the model's node and the first call
    kill(case)
    case.go("find-2")
    case.wait_status("waiting", seconds=GOES_ON)
    assert [len(case.calls(name)) for name in ("model", "find-1", "find-2")] == [2, 1, 2]
    server.decide(str(case.id))
    case.wait_status("succeeded")
    assert (case.folder / "1.refund").read_text() == "40.00"
    assert len(case.calls("refund")) == 1
    assert case.kinds().count("lease.taken_over") == 1
    assert server.verify(str(case.id))["intact"] is True


def test_a_branch_that_finished_is_not_repeated_after_a_kill(
    server: Server, start: Callable[..., Case]
) -> None:
    case = start("rounds", rounds=1, hold=("right-0",))
    case.wait_called("right-0")
    case.wait_called("left-0")
    case.wait_event("activity.finished", 2)  # the start and the left branch
    kill(case)
    case.go("right-0")
    case.wait_status("succeeded", seconds=GOES_ON)
    assert [len(case.calls(name)) for name in ("left-0", "right-0")] == [1, 2]
    assert case.state()["lines"] == ["left 0", "right 0"]
    assert server.verify(str(case.id))["intact"] is True


def test_an_effect_killed_in_its_middle_has_the_same_key(
    server: Server, start: Callable[..., Case]
) -> None:
    case = start("shop", messages=GOAL, hold=("refund",))
    case.wait_status("waiting")
    server.decide(str(case.id))
    case.wait_called("refund")
    kill(case)
    case.go("refund")
    case.wait_status("succeeded", seconds=GOES_ON)
    keys = case.calls("refund")
    assert len(keys) == 2
    assert len(set(keys)) == 1
    (effect,) = case.effects()
    assert (effect.state, effect.idempotency_key) == ("done", keys[0])


def test_what_is_only_async_keeps_its_key_and_its_finished_calls_after_a_kill(
    server: Server, start: Callable[..., Case]
) -> None:
    case = start("late", messages=GOAL, hold=("find-2", "refund"))
    case.wait_called("find-1")
    case.wait_called("find-2")
    case.wait_event("activity.finished", 3)
    kill(case)
    case.go("find-2")
    case.wait_status("waiting", seconds=GOES_ON)
    assert [len(case.calls(name)) for name in ("find-1", "find-2")] == [1, 2]
    server.decide(str(case.id))
    case.wait_called("refund")
    kill(case)
    case.go("refund")
    case.wait_status("waiting", seconds=GOES_ON)
    server.decide(str(case.id), "respond", args="Ada")
    case.wait_status("succeeded")
    keys = case.calls("refund")
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert server.verify(str(case.id))["intact"] is True


def test_a_breakpoint_asks_again_after_an_edit(server: Server, start: Callable[..., Case]) -> None:
    case = start("stopped", rounds=1)
    case.wait_status("waiting")
    (first,) = server.requests(str(case.id))
    server.operator.post(f"/threads/{case.id}/pause/", {})
    case.wait_status("paused")
    body = {"changes": {"lines": ["mine"]}, "reason": "other lines"}
    server.operator.post(f"/threads/{case.id}/edit/", body)
    server.operator.post(f"/threads/{case.id}/resume/", {})
    second = server.wait(
        lambda: [r for r in server.requests(str(case.id)) if r["id"] != first["id"]]
    )[0]
    assert second["title"] == first["title"] == "Continue with meet?"
    body = {"verdict": "approve", "proposal_hash": second["proposal_hash"]}
    server.manager.post(f"/approvals/{second['id']}/decide/", body)
    case.wait_status("succeeded")
    assert case.state()["lines"] == ["mine"]


def test_people_answer_parallel_interrupts_and_a_subgraph_goes_on_after_a_kill(
    server: Server, start: Callable[..., Case]
) -> None:
    case = start("trip")
    case.wait_status("waiting")
    requests = server.requests(str(case.id))
    assert sorted(row["title"] for row in requests) == ["How much?", "Is Oslo right?"]
    for title, value in (("How much?", 500), ("Is Oslo right?", "yes"), ("When?", "May")):
        case.wait_status("waiting")
        rows = server.wait(
            lambda title=title: [
                row for row in server.requests(str(case.id)) if row["title"] == title
            ]
        )
        body = {"verdict": "respond", "proposal_hash": rows[0]["proposal_hash"], "args": value}
        server.manager.post(f"/approvals/{rows[0]['id']}/decide/", body)
    case.wait_status("succeeded")
    assert case.state()["answers"] == ["500 euro", "yes May", "packed"]
    assert len(case.calls("draft")) == 1
    assert server.verify(str(case.id))["intact"] is True


def test_a_fork_an_edit_and_a_rollback_change_the_channels(
    server: Server, start: Callable[..., Case]
) -> None:
    case = start("shop", messages=GOAL)
    case.wait_status("waiting")
    server.decide(str(case.id))
    case.wait_status("succeeded")
    path = f"/threads/{case.id}"
    rows = server.operator.get(f"{path}/checkpoints/")["results"]
    before_the_model = {row["step"]: row["id"] for row in rows}[1]
    lamp = {"messages": [{"role": "user", "content": "My lamp is broken."}]}

    fork = server.operator.post(f"{path}/fork/", {"checkpoint": before_the_model, "changes": lamp})
    Case(UUID(fork["id"]), case.folder, case.workspace).wait_status("waiting")
    assert server.state(fork["id"])["messages"][0]["value"]["data"]["content"].startswith("My lamp")

    server.operator.post(
        f"{path}/rollback/", {"checkpoint": before_the_model, "reason": "Another order"}
    )
    server.wait_status(str(case.id), "paused")
    assert [effect.state for effect in case.effects()] == ["compensated"]
    server.operator.post(f"{path}/edit/", {"changes": lamp, "reason": "It was the lamp"})
    server.operator.post(f"{path}/resume/", {})
    case.wait_status("waiting")
    messages = server.state(str(case.id))["messages"]
    assert messages[0]["value"]["data"]["content"] == "My lamp is broken."
    assert server.verify(str(case.id))["intact"] is True
    assert server.verify(fork["id"])["intact"] is True
