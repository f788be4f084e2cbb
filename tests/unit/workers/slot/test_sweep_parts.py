"""One part of the sweep that fails keeps none of the others from being done."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from django.db import DatabaseError

from approvals import gates
from workers.slot import sweep

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("error", [RuntimeError("a request that nobody foresaw"), DatabaseError()])
def test_lost_threads_are_rung_for_whatever_fails_beside_it(error: Exception) -> None:
    parts = list(sweep.sweep_once(owner="worker:test:1:0"))
    assert parts[:4] == ["shortened", "parked", "woken", "rung"]
    with (
        patch.object(gates, "settle_due", side_effect=error),
        patch.object(sweep, "connection"),  # the test's transaction has to stay
    ):
        done = sweep.sweep_once(owner="worker:test:1:0")
    assert list(done) == [name for name in parts if name != "settled"]
