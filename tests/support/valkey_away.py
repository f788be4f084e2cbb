"""A Valkey that is away: how often the process has tried it."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.wire import hints


def count_attempts(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One item for each attempt from here on; the silence after a failed one outlasts any test."""
    attempts: list[None] = []
    client = hints.client

    def counted() -> Any:
        attempts.append(None)
        return client()

    monkeypatch.setattr(hints, "client", counted)
    monkeypatch.setattr(hints, "SILENCE", 600.0)
    monkeypatch.setattr(hints, "_away", False)
    monkeypatch.setattr(hints, "_silent_until", 0.0)
    return attempts
