"""A request that waits, and a hook whose senders are people."""

from __future__ import annotations

from uuid import UUID

import pytest

from approvals.queries import ApprovalRow
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.hooking import made


@pytest.fixture
def row(cast: Cast) -> ApprovalRow:
    return scene.waiting(cast.workspace, scene.make_agent())


@pytest.fixture
def hook(cast: Cast) -> tuple[UUID, str]:
    return made(cast, U1="manager", U2="operator", U3="second_manager")
