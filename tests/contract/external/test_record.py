"""The record of a thread as an agent elsewhere reads it: deltas that fold, records, pages."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints.queries import past
from checkpoints.state import deltas

from .entry import Agent

pytestmark = pytest.mark.django_db


def pages(agent: Agent, limit: int) -> list[dict[str, Any]]:
    """All pages of a thread's record."""
    result: list[dict[str, Any]] = []
    start: int | None = 0
    while start is not None:
        result.append(agent.get(f"record/?start={start}&limit={limit}"))
        start = result[-1]["next_cursor"]
    return result


def worked(agent: Agent, large: str = "") -> None:
    """Three steps, a record after the second, and one step on another branch."""
    agent.start(input={"n": 0}, name="tonight")
    agent.take()
    ids = [
        agent.commit(n, delta={"set": {"n": n, "large": f"{n}{large}"}})["checkpoint"]["id"]
        for n in (1, 2)
    ]
    value = {"node": "work", "key": "k", "tool": "note", "args": {"a": 1}, "result": "first"}
    agent.post("activities/record/", {"records": [value]})
    agent.post("activities/record/", {"records": [value | {"result": "second"}]})
    agent.commit(3, delta={"append": {"log": ["x"]}})
    agent.post("checkpoints/", {"parent": ids[0], "delta": {"set": {"n": 9}}}, status=201)


def test_deltas_fold_to_the_states_and_records_come_with_the_step_before(agent: Agent) -> None:
    worked(agent)
    for limit in (1, 2, 200):
        read = pages(agent, limit)
        steps = [step for page in read for step in page["steps"]]
        assert [step["number"] for step in steps] == list(range(len(steps)))
        assert [step["source"] for step in steps] == [
            *("input", "step", "step", "step", "rollback", "step")
        ]
        states: dict[str, Any] = {}
        for step in steps:
            before = states.get(step["parent"], {})
            states[step["id"]] = deltas.apply(before, step["delta"])
            shown = agent.get(f"state/?checkpoint={step['id']}")["state"]
            assert states[step["id"]] == shown
        results = {step["number"]: [a["result"] for a in step["activities"]] for step in steps}
        assert {number: some for number, some in results.items() if some} == {
            2: ["first", "second"]
        }
        assert read[-1]["thread"]["head"] == steps[-1]["id"]
        assert len(read) == -(-len(steps) // limit)


def test_a_page_ends_where_its_deltas_are_heavy(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past, "PAGE_BYTES", 2_000)
    worked(agent, large="".join(f"{n:05}" for n in range(2_000)))
    read = pages(agent, 200)
    assert [[step["number"] for step in page["steps"]] for page in read] == [
        *([0, 1], [2], [3, 4, 5]),
    ] or len(read) >= 2
    assert [step["number"] for page in read for step in page["steps"]] == list(range(6))


def test_a_fork_names_the_base_whose_record_holds_what_they_share(agent: Agent) -> None:
    worked(agent)
    agent.release("succeeded")
    base = agent.thread
    head = agent.get("next/")["thread"]["head"]
    fork = agent.people("POST", f"/threads/{base}/fork/", {"checkpoint": head}, {})
    assert fork.status == 201, fork
    agent.thread, agent.lease = fork.body["id"], ""
    (first,) = agent.get("record/")["steps"]
    assert (first["parent_thread"], first["parent"], first["parent_number"]) == (base, head, 5)


def test_a_thread_is_found_by_its_name(agent: Agent) -> None:
    agent.start(name="tonight")
    answer = agent.send("GET", f"/threads/?agent={agent.agent}&name=tonight", None, {})
    assert [row["id"] for row in answer.body["results"]] == [agent.thread]
    for query in ("name=tonight2", "name=%25night", "name=TONIGHT", "agent=other&name=tonight"):
        assert agent.send("GET", f"/threads/?{query}", None, {}).body["results"] == []


def test_others_learn_nothing_of_it(agent: Agent) -> None:
    agent.start(name="tonight")
    agent.thread = "00000000-0000-7000-8000-000000000000"
    assert agent.call("GET", "record/").status == 404
    for query in ("start=-1", "start=x", "limit=0", "limit=201", "start=99999999999"):
        assert agent.call("GET", f"record/?{query}").status == 422
