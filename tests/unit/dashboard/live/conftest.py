"""A hub of a test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dashboard.live.hub import Hub

from .fake_sockets import Bench, FakeFloor


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    floor = FakeFloor()
    hub = Hub(floor, poll_seconds=600, recheck_seconds=600)
    hub.start()
    yield Bench(hub, floor)
    await hub.stop()
