"""Counts of limits that no other test shares, kept by Valkey from the first to the last."""

from __future__ import annotations

from uuid import uuid4

import pytest

from dashboard.identity import rate_limits
from dashboard.wire import hints


@pytest.fixture(autouse=True)
def own_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "PREFIX", f"gatepost:rate:{uuid4().hex}:")
    # A test before this one may have taken Valkey away: the process would count for itself first.
    monkeypatch.setattr(hints, "_away", False)
