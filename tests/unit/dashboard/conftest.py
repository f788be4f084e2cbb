"""People at the API, a thread that waits for them, and threads that have lived."""

from __future__ import annotations

import random
from pathlib import Path
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from approvals import gates as gating
from approvals import queries as gates
from approvals.verification.proof import verify
from checkpoints import store
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import samples

from . import populations, scene


@pytest.fixture
def agent(cast: Cast) -> UUID:
    return scene.make_agent()


@pytest.fixture
def row(cast: Cast, agent: UUID) -> gates.ApprovalRow:
    """A thread that waits at a gate."""
    return scene.waiting(cast.workspace, agent)


@pytest.fixture
def operator(cast: Cast) -> Client:
    return cast.client("operator")


@pytest.fixture
def manager(cast: Cast) -> Client:
    return cast.client("manager")


@pytest.fixture(params=[1, 2, 3])
def population(request: pytest.FixtureRequest, cast: Cast) -> list[UUID]:
    """Threads in all statuses, with forks, edits, requests and effects; different each time."""
    return populations.populate(cast, random.Random(request.param))


@pytest.fixture(params=[1, 2, 3])
def requested(request: pytest.FixtureRequest, cast: Cast) -> list[UUID]:
    """Requests of every risk with votes, edits and decisions; different each time."""
    return populations.requested(cast, random.Random(request.param))


@pytest.fixture
def lived(db: None, tmp_path: Path) -> tuple[Bench, UUID]:
    """A thread with everything: gates of each end, effects done and undone, failures, a file."""
    samples.counter.calls.clear()
    bench = bench_of(samples)
    thread = bench.start(goal="tea", rounds=2, folder=str(tmp_path))
    bench.advance(thread)
    bench.decide(thread, "reject", "too dear")
    bench.advance(thread)
    bench.roll_back(thread, 1)
    store.resume(thread, actor="user:1")
    bench.advance(thread)
    gating.withdraw_open(thread, reason="edited", actor="user:1")
    large = {"goal": "coffee", "facts": {"note": "long " * 5_000}}
    store.edit(thread, changes=large, reason="", actor="user:1")
    store.resume(thread, actor="user:1")
    bench.advance(thread)
    bench.decide(thread, "approve", "fine")
    bench.advance(thread)
    bench.roll_back(thread, 1)
    store.resume(thread, actor="user:1")
    bench.advance(thread)
    ref = store.put_artifact(
        bench.workspace, name="list.csv", media_type="text/csv", chunks=[b"a,b\n", b"1,2\n"]
    )
    payload = {"node": "buy", "name": ref["name"], "sha256": ref["$artifact"], "size": ref["size"]}
    store.add_event(
        thread,
        store.NewEvent(EventKind.ARTIFACT_STORED, payload | {"media_type": "text/csv"}, "worker:1"),
    )
    result = verify(thread)
    assert result.intact, result.what
    return bench, thread


@pytest.fixture
def lived_here(lived: tuple[Bench, UUID]) -> tuple[Bench, UUID]:
    """The thread with everything, and somebody who may carry it: `carrier`."""
    bench, thread = lived
    user = get_user_model()._default_manager.create_user(username="carrier")
    store.grant(bench.workspace, user.pk, "operator", actor="user:0")
    return bench, thread
