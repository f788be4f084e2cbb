"""A thread is continued by its name, through the API, after its worker is gone."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest

from tests.faults.bench import Case, Field, Worker, ask, workers
from tests.faults.web import Person, Web, people

pytestmark = pytest.mark.hazard
NAMED = {"HAZARD_QUEUE": "named"}


@pytest.fixture(scope="module")
def web(ground: Path) -> Iterator[Web]:
    started = Web(ground)
    try:
        yield started.wait_ready()
    finally:
        started.kill()


@pytest.fixture
def rita(web: Web, field: Field, request: pytest.FixtureRequest) -> Iterator[Person]:
    with people(web, field.workspace, "operator", f"rita-{request.node.name[:20]}") as (rita,):
        yield rita


def body_of(folder: Path, name: str, *steps: str) -> dict[str, object]:
    script = [[order.split() for order in step.split(", ")] for step in steps]
    return {
        "agent": "script-named",
        "name": name,
        "input": {"folder": str(folder), "script": script},
    }


STEPS = ("look one, look two", "look three", "look four, look five", "look six")


@pytest.mark.requirement("B29")
def test_a_killed_worker_and_the_same_start_again(
    ground: Path, field: Field, rita: Person, tmp_path: Path
) -> None:
    """It jumps to the recorded step: what was done before the kill is not done again."""
    folder = tmp_path / "named"
    folder.mkdir()
    (folder / "in-five.hold").touch()
    body = body_of(folder, "nightly report", *STEPS)
    first = Worker(ground, "named-1", queues="named", environment=NAMED)
    with workers(first):
        answer = rita.post("/threads/", body)
        assert answer.status_code == 201, answer.text
        case = field.adopt(UUID(answer.json()["id"]), folder)
        case.wait_called("five")
        assert case.row().step == 2
        first.kill()
    again = rita.post("/threads/", body)
    assert again.status_code == 200
    assert again.json()["id"] == str(case.id)
    assert again.json()["step"] == 2
    case.go("in-five")
    second = Worker(ground, "named-2", queues="named", environment=NAMED)
    with workers(second):
        case.wait_status("succeeded", seconds=30)
    names = ("one", "two", "three", "four", "five", "six")
    assert [len(case.calls(n)) for n in names] == [1, 1, 1, 1, 2, 1]
    assert case.state()["notes"] == [f"saw {n}" for n in names]
    # Ended, it is still the thread of this name.
    ended = rita.post("/threads/", {"agent": "script-named", "name": "nightly report"})
    assert (ended.status_code, ended.json()["status"]) == (200, "succeeded")
    assert ended.json()["id"] == str(case.id)


@pytest.mark.requirement("B29")
def test_a_paused_and_a_failed_thread_go_on_from_their_step(
    ground: Path, field: Field, rita: Person, tmp_path: Path
) -> None:
    folder = tmp_path / "paused"
    folder.mkdir()
    body = body_of(folder, "by hand", *STEPS)
    with workers(Worker(ground, "named-3", queues="named", environment=NAMED)):
        (folder / "in-three.hold").touch()
        case = field.adopt(UUID(rita.post("/threads/", body).json()["id"]), folder)
        case.wait_called("three")
        assert rita.post(f"/threads/{case.id}/pause/", {}).status_code == 200
        case.go("in-three")
        case.wait_status("paused")
        assert rita.post("/threads/", body).json()["id"] == str(case.id)
        case.wait_status("succeeded")

        # A step that fails for want of its folder, which then is made.
        gone = tmp_path / "gone"
        body = body_of(gone, "mended", "look one")
        failing = Case(UUID(rita.post("/threads/", body).json()["id"]), gone, field.workspace)
        failing.wait_status("failed")
        gone.mkdir()
        assert rita.post("/threads/", body).json()["id"] == str(failing.id)
        failing.wait_status("succeeded")
    assert [len(case.calls(n)) for n in ("one", "two", "three", "four", "six")] == [1] * 5
    assert case.kinds().count("thread.resumed") == 1
    assert failing.kinds().count("thread.retried") == 1
    assert len(failing.calls("one")) == 1


@pytest.mark.requirement("B46")
def test_twenty_starts_of_one_name_through_http(
    ground: Path, field: Field, worker: Worker, rita: Person, tmp_path: Path
) -> None:
    """Ten rounds: each time one thread, and twenty times its id."""
    met = 0
    with ThreadPoolExecutor(20) as pool:
        for n in range(10):
            folder = tmp_path / f"race-{n}"
            folder.mkdir()
            body = body_of(folder, f"race {n}", "look one") | {"agent": "script"}
            answers = list(pool.map(lambda _, b=body: rita.post("/threads/", b), range(20)))
            assert sorted({a.status_code for a in answers}) == [200, 201]
            assert [a.status_code for a in answers].count(201) == 1
            ids = {a.json()["id"] for a in answers}
            assert len(ids) == 1
            case = field.adopt(UUID(ids.pop()), folder)
            case.wait_status("succeeded")
            assert len(case.calls("one")) == 1
            met += 1
    assert met == 10
    assert ask("SELECT count(*) FROM gp_thread WHERE name LIKE 'race %%'") == [(10,)]


@pytest.mark.requirement("B46")
def test_twenty_people_go_on_with_one_failed_thread(
    ground: Path, field: Field, worker: Worker, rita: Person, tmp_path: Path
) -> None:
    """One retry, twenty answers."""
    folder = tmp_path / "once"
    body = body_of(folder, "once more", "look one") | {"agent": "script"}
    case = Case(UUID(rita.post("/threads/", body).json()["id"]), folder, field.workspace)
    case.wait_status("failed")
    folder.mkdir()
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: rita.post("/threads/", body), range(20)))
    assert {(a.status_code, a.json()["id"]) for a in answers} == {(200, str(case.id))}
    case.wait_status("succeeded")
    assert case.kinds().count("thread.retried") == 1
    assert len(case.calls("one")) == 1
