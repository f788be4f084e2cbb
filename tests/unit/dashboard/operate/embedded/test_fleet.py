"""The demo's fleet: each thread and each step once, however often it is filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model

from approvals import queries as approvals
from approvals.policies import queries as policies
from checkpoints import queries
from checkpoints.states import Status
from dashboard.administration import budgets
from dashboard.errors import Missing
from dashboard.operate.demo import demo, demo_guide, rules
from dashboard.operate.demo.cast import demo_cast
from dashboard.operate.demo.fleet import Fleet
from dashboard.operate.demo.scenes import SCENES, Scene
from dashboard.operate.demo.steps import Decide, Fork, RollBack
from dashboard.threads.cancel import cancel
from tests.support.cast import Cast
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import samples
from workers.code.registry import announce

FORKED = "Order coffee instead"


@pytest.fixture
def scenes(tmp_path: Path) -> tuple[Scene, ...]:
    """A thread for each step: forked, rolled back, rolled back by two, rejected, left alone."""
    value = {"rounds": 1, "folder": str(tmp_path)}
    steps: dict[str, tuple[Any, ...]] = {
        "forked": (
            Decide("approve", "Fine."),
            Fork(at=1, title=FORKED, reason="Coffee.", changes={"goal": "coffee"}),
        ),
        "back": (Decide("approve", "Fine."), RollBack(at=1, reason="Too much tea.")),
        "two": (Decide("approve", "Fine."), RollBack(at=1, reason="Too much tea.")),
        "no": (Decide("reject", "Too dear."),),
        "left": (),
    }
    return tuple(
        Scene(name, "orders", name, value, "treasury" if name == "two" else "sales", taken)
        for name, taken in steps.items()
    )


@pytest.fixture
def people(db: None, tmp_path: Path) -> Path:
    """The demo's people; the file with their passwords."""
    demo.create_logins(tmp_path / "logins.txt")
    return tmp_path / "logins.txt"


def work_on(bench: Bench) -> None:
    """Advance threads as a worker does, until nothing is left to do."""
    while ready := [
        row.id
        for row in queries.threads(workspace=bench.workspace, limit=50).rows
        if row.status in (Status.QUEUED, Status.ROLLING_BACK)
    ]:
        for thread in ready:
            bench.advance(thread)


def all_of(fleet: Fleet) -> Sequence[tuple[UUID, str, int]]:
    rows = queries.threads(workspace=fleet.cast.operator.workspace, limit=50).rows
    return sorted((row.id, str(row.status), row.last_seq) for row in rows)


def test_a_second_time_adds_nothing(people: Path, scenes: tuple[Scene, ...]) -> None:
    samples.counter.calls.clear()
    fleet = Fleet(demo_cast(), scenes)
    bench = Bench(announce(samples.graph, samples.TOOLS, [samples]), fleet.cast.operator.workspace)
    fleet.start()
    assert fleet.started == [scene.name for scene in scenes]
    for _ in range(6):
        work_on(bench)
        if fleet.take_steps():
            break
    work_on(bench)
    assert fleet.waiting == []

    rows = {row.title: row for row in queries.threads(workspace=bench.workspace, limit=50).rows}
    assert {title: str(row.status) for title, row in rows.items()} == {
        "forked": "succeeded",
        FORKED: "waiting",
        "back": "paused",
        "two": "succeeded",
        "no": "succeeded",
        "left": "waiting",
    }
    assert rows["back"].branch == 1
    (request,) = approvals.for_thread(rows["two"].id, open_only=True)
    assert (request.kind, request.tool) == ("operation", "roll_back")
    assert {row.labels["team"] for row in rows.values()} == {"sales", "treasury"}

    before = all_of(fleet)
    again = Fleet(demo_cast(), scenes)
    again.start()
    assert again.started == []
    assert again.take_steps()
    assert all_of(again) == before
    assert len([p for p in policies.policies(bench.workspace) if p.name == rules.POLICY]) == 1
    assert len(budgets.standings(fleet.cast.admin)) == 2


def test_a_scene_that_shows_work_is_started_again_when_it_has_ended(
    people: Path, scenes: tuple[Scene, ...]
) -> None:
    [left] = [replace(scene, again=True) for scene in scenes if scene.name == "left"]
    fleet = Fleet(demo_cast(), [left])
    bench = Bench(announce(samples.graph, samples.TOOLS, [samples]), fleet.cast.operator.workspace)
    for started in (["left"], [], []):
        fleet.started.clear()
        fleet.start()
        assert fleet.started == started
        work_on(bench)
    (thread,) = queries.threads(workspace=bench.workspace, limit=50).rows
    cancel(fleet.cast.operator, thread.id, "Enough.")
    for started in (["left-2"], []):
        fleet.started.clear()
        fleet.start()
        assert fleet.started == started


def test_what_somebody_else_has_decided_is_left(people: Path, scenes: tuple[Scene, ...]) -> None:
    fleet = Fleet(demo_cast(), [scene for scene in scenes if scene.name == "no"])
    bench = Bench(announce(samples.graph, samples.TOOLS, [samples]), fleet.cast.operator.workspace)
    fleet.start()
    assert not fleet.take_steps(), "nothing is asked yet"
    work_on(bench)
    (thread,) = queries.threads(workspace=bench.workspace, limit=50).rows
    bench.decide(thread.id, "approve", "A visitor was faster.")
    assert fleet.take_steps()
    assert len(approvals.votes(bench.approvals(thread.id)[0].id)) == 1


def test_the_time_is_limited(people: Path, scenes: tuple[Scene, ...]) -> None:
    fleet = Fleet(demo_cast(), [scene for scene in scenes if scene.name == "no"])
    announce(samples.graph, samples.TOOLS, [samples])
    fleet.start()
    lines: list[str] = []
    assert not fleet.fill(seconds=0, report=lines.append)
    assert lines == ["These threads did not reach their next step in time: no."]


def test_no_fleet_without_the_people_of_a_demo(cast: Cast) -> None:
    with pytest.raises(Missing, match="no demo user operator"):
        demo_cast()


def test_each_person_gets_a_link_that_signs_in_once(people: Path) -> None:
    links = dict(demo_guide.links("http://127.0.0.1:8000"))
    assert [name.removeprefix("As ") for name in links] == list(demo.PEOPLE)
    assert all("/welcome/?sesame=" in link for link in links.values())
    passwords = [line.split()[1] for line in people.read_text().splitlines()]
    assert not any(password in " ".join(links.values()) for password in passwords)
    assert get_user_model().objects.count() == len(demo.PEOPLE)
    # Hand-over, deputies and two of three need others who may decide.
    reviewers = [name for name, role in demo.PEOPLE.items() if role == "reviewer"]
    assert reviewers == ["manager", "manager2", "manager3"]
    assert "two of three" in links["As manager2"]
    assert set(demo_guide.DOES) == set(demo.PEOPLE)


def test_scenes_have_names_of_their_own() -> None:
    names = [scene.name for scene in SCENES]
    assert len(set(names)) == len(names)
    assert set(demo.THREADS) <= set(names)
    assert all(name.startswith("demo-") for name in names)
