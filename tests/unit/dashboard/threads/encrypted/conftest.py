"""A thread of the agent with encrypted channels, finished, beside the cast."""

from __future__ import annotations

from uuid import UUID

import pytest

from checkpoints.states import Status
from tests.support.cast import Cast
from tests.unit.workers.conftest import Bench
from tests.unit.workers.encrypted.agent import WORD, graph_of
from workers.code.registry import announce


@pytest.fixture
def bench(cast: Cast) -> Bench:
    return Bench(announce(graph_of(), {}, []), cast.workspace)


@pytest.fixture
def thread(bench: Bench) -> UUID:
    made = bench.start(patient="Ada", diagnosis=WORD)
    assert bench.advance(made).status is Status.SUCCEEDED
    return made


@pytest.fixture
def paused(bench: Bench) -> UUID:
    made = bench.start(patient="Ada", diagnosis=WORD)
    bench.pause(made)
    return made
