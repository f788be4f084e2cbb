"""The scenarios of that API by Django's own test client; other clients run the same elsewhere."""

from __future__ import annotations

from uuid import UUID

import pytest

from approvals.verification.proof import verify

from .entry import Agent
from .scenarios import SCENARIOS

pytestmark = pytest.mark.django_db


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SCENARIOS))
def test_by_the_test_client(agent: Agent, name: str) -> None:
    SCENARIOS[name](agent)
    assert verify(UUID(agent.thread)).intact
