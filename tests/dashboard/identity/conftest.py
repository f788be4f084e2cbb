"""Counts of limits that no other test, and no other process of tests, shares."""

from __future__ import annotations

from uuid import uuid4

import pytest

from dashboard.identity import rate_limits


@pytest.fixture(autouse=True)
def own_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "PREFIX", f"gatepost:rate:{uuid4().hex}:")
