"""Scripts with the Python client against a real server, and what people do to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .bench import SCRIPTS, Script, Server, lines, payload, python, wait_file

pytestmark = pytest.mark.slow  # each test starts processes
Make = Callable[..., Script]


@pytest.fixture
def start(script: Make, tmp_path: Path) -> Make:
    """Starts an agent of `choices.py`."""

    def make(*words: str, **environment: str) -> Script:
        command = python(SCRIPTS / "choices.py", *words)
        return script(*command, OUTSIDE=str(tmp_path), **environment)

    return make


def test_exactly_what_a_reviewer_edited_is_done(
    server: Server, start: Make, tmp_path: Path
) -> None:
    first = start("sends", "hello")
    thread = server.wait_thread("sends", "hello")
    request = server.decide(thread, "edit", args={"text": "hello, world"}, comment="politer")
    assert request["title"] == "Send hello?"
    assert payload(first.end()) == [5, "sent hello, world"]
    assert lines(tmp_path / "sent") == ["hello, world"]
    assert server.state(thread)["steps"] == {"count": 5, "send": "sent hello, world"}
    # By the argument that its author names as searchable.
    page = server.operator.get("/threads/?q=agent:sends+state.text:hello")
    assert [row["id"] for row in page["results"]] == [thread]
    assert server.operator.get("/threads/?q=state.text:other")["results"] == []


def test_a_rejection_is_an_error_that_can_be_caught_and_stays_said(
    server: Server, start: Make, tmp_path: Path
) -> None:
    first = start("sends", "bye")
    thread = server.wait_thread("sends", "bye")
    server.decide(thread, "reject", comment="not now")
    assert payload(first.end()) == [3, "not sent: not now", "wired 3"]
    assert lines(tmp_path / "sent") == []
    assert server.state(thread)["refusals"]["send"]["comment"] == "not now"


def test_a_process_that_may_not_wait_leaves_with_75_and_goes_on_when_it_is_started_again(
    server: Server, start: Make, tmp_path: Path
) -> None:
    text = start("sends", "later", GATEPOST_WAIT="0").end(75)
    assert "Send later?" in text
    thread = server.wait_thread("sends", "later")
    assert server.wait_status(thread, "waiting")
    assert "Send later?" in start("sends", "later", GATEPOST_WAIT="0").end(75)
    server.decide(thread)
    start("sends", "--serve").end()
    assert server.wait_status(thread, "succeeded")
    assert lines(tmp_path / "count") == ["later"]
    assert lines(tmp_path / "sent") == ["later"]


def test_a_question_is_answered_by_its_schema_and_messages_are_taken_once(
    server: Server, start: Make
) -> None:
    first = start("asks", "curious")
    thread = server.wait_thread("asks", "curious")
    request = server.wait_request(thread)
    assert request["title"] == "Which colour?"
    server.decide(thread, "respond", args="green")
    server.operator.post(f"/threads/{thread}/input/", {"message": "hurry up"})
    assert payload(first.end()) == {"colour": "green", "messages": ["hurry up"]}
    assert payload(start("asks", "curious").end())["messages"] == ["hurry up"]


def test_an_effect_whose_outcome_is_unknown_waits_for_a_person(
    server: Server, start: Make, tmp_path: Path
) -> None:
    first = start("wires", "much", "2000")
    thread = server.wait_thread("wires", "much")
    server.wait_status(thread, "attention")
    (activity,) = [
        row
        for row in server.operator.get(f"/threads/{thread}/activities/")["results"]
        if row["tool"] == "wire"
    ]
    assert activity["state"] == "unknown"
    server.operator.post(
        f"/threads/{thread}/settle/",
        {"activity": activity["id"], "verdict": "happened", "result": "the bank says yes"},
    )
    assert payload(first.end()) == "the bank says yes"
    assert lines(tmp_path / "wired") == ["2000"]


@pytest.mark.requirement("F03")
def test_an_effect_whose_result_is_not_json_is_done_and_not_made_again(
    server: Server, start: Make, tmp_path: Path
) -> None:
    assert "What 'weigh' returned: $ is nan, which is not JSON" in start("weighs", "gold").end(1)
    thread = server.wait_thread("weighs", "gold")
    (activity,) = [
        row
        for row in server.operator.get(f"/threads/{thread}/activities/")["results"]
        if row["tool"] == "weigh"
    ]
    assert activity["state"] == "done"
    assert "which is not JSON" in activity["result"]["withheld"]
    server.operator.post(f"/threads/{thread}/retry/", {})
    assert payload(start("weighs", "gold").end()) == activity["result"]
    assert lines(tmp_path / "weighed") == ["gold"]


def test_a_lost_lease_ends_the_work_with_a_clear_error(
    server: Server, start: Make, tmp_path: Path
) -> None:
    (tmp_path / "staying.hold").touch()
    first = start("stays", "lost")
    wait_file(tmp_path / "staying")
    thread = server.wait_thread("stays", "lost")
    server.operator.post(f"/threads/{thread}/cancel/", {"reason": "not needed"})
    (tmp_path / "staying.hold").unlink()
    text = first.end(1)
    assert "Cancelled: A person cancelled the thread." in text
    assert server.state(thread)["steps"] == {"count": 4}  # what came later is not recorded


def test_a_pause_stops_at_the_next_step_and_an_edit_is_what_the_step_answers_afterwards(
    server: Server, start: Make, tmp_path: Path
) -> None:
    (tmp_path / "staying.hold").touch()
    first = start("stays", "edited")
    wait_file(tmp_path / "staying")
    thread = server.wait_thread("stays", "edited")
    server.operator.post(f"/threads/{thread}/pause/", {})
    (tmp_path / "staying.hold").unlink()
    server.wait_status(thread, "paused")
    changes = {"steps": {**server.state(thread)["steps"], "count": 99}}
    server.operator.post(f"/threads/{thread}/edit/", {"changes": changes, "reason": "recounted"})
    server.operator.post(f"/threads/{thread}/resume/", {})
    assert payload(first.end()) == [99, 7]
    assert lines(tmp_path / "count") == ["edited", "edited!"]


def test_async_steps_work_side_by_side_and_wait_at_their_gate(
    server: Server, start: Make, tmp_path: Path
) -> None:
    first = start("crawls", "site", GATEPOST_WAIT="0")
    assert "Publish 3 pages?" in first.end(75)
    thread = server.wait_thread("crawls", "site")
    server.decide(thread)
    second = start("crawls", "site")
    server.decide(thread, "respond", args="everybody")
    result: dict[str, Any] = payload(second.end())
    assert result == {"pages": ["page 0", "page 1", "page 2"], "state": "out", "who": "everybody"}
    assert sorted(lines(tmp_path / "fetched")) == ["0", "1", "2"]
    assert lines(tmp_path / "published") == ["3"]


def test_a_fork_is_picked_up_and_goes_on_from_its_checkpoint(
    server: Server, start: Make, tmp_path: Path
) -> None:
    start("stays", "base").end()
    thread = server.wait_thread("stays", "base")
    rows = server.operator.get(f"/threads/{thread}/checkpoints/")["results"]
    (first,) = [row for row in rows if row["nodes"] == ["count"] and row["step"] == 1]
    changes = {"steps": {"count": 50}}
    body = {"checkpoint": first["id"], "changes": changes, "reason": "what if"}
    fork = server.operator.post(f"/threads/{thread}/fork/", body)["id"]
    start("stays", "--serve").end()
    server.wait_status(fork, "succeeded")
    assert server.state(fork)["result"] == [50, 5]
    assert lines(tmp_path / "count") == ["base", "base!", "base!"]


def test_a_sleeping_async_agent_is_woken_by_the_loss_of_its_lease(
    server: Server, start: Make, tmp_path: Path
) -> None:
    first = start("sleeps", "long")
    thread = server.wait_thread("sleeps", "long")
    server.wait(lambda: server.state(thread).get("steps"))
    server.operator.post(f"/threads/{thread}/cancel/", {"reason": "not needed"})
    assert "Cancelled: A person cancelled the thread." in first.end(1)


def test_a_rollback_is_undone_by_the_script_and_goes_on_from_there(
    server: Server, start: Make, tmp_path: Path
) -> None:
    first = start("undoes", "back")
    thread = server.wait_thread("undoes", "back")
    server.wait_request(thread)
    rows = server.operator.get(f"/threads/{thread}/checkpoints/")["results"]
    (target,) = [row for row in rows if row["nodes"] == ["count"]]
    body = {"checkpoint": target["id"], "reason": "wrong sum", "compensate": True, "run_on": True}
    server.operator.post(f"/threads/{thread}/rollback/", body)
    server.wait(lambda: lines(tmp_path / "wired") == ["4", "4"])
    server.decide(thread, "respond", args="yes")
    assert payload(first.end()) == "yes"
    assert lines(tmp_path / "count") == ["back"]
    assert lines(tmp_path / "unwired") == ["4"]
