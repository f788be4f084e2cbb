"""The connections of a worker break in the middle of its steps, again and again; it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from tests.faults.bench import LEASE, SWEEP, Field, Worker, wait_until, workers

from .proxy import Proxy

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("A05")]
ROUNDS = 9
GOES_ON = 2 * (LEASE + SWEEP) + 30


@pytest.fixture
def proxies() -> Iterator[tuple[Proxy, Proxy]]:
    """In front of PostgreSQL and of Valkey."""
    host = Path(str(connection.settings_dict["HOST"]))
    made = Proxy(host / ".s.PGSQL.5432"), Proxy(settings.PLACES.valkey_socket)
    yield made
    for proxy in made:
        proxy.close()


def test_nothing_is_lost_and_nothing_doubled(
    ground: Path, field: Field, proxies: tuple[Proxy, Proxy]
) -> None:
    postgres, valkey = proxies
    name = connection.settings_dict["NAME"]
    worker = Worker(
        ground,
        "flicker",
        slots=2,
        queues="flicker",
        environment={
            "HAZARD_QUEUE": "flicker",
            "DATABASE_URL": f"postgresql://gatepost@127.0.0.1:{postgres.port}/{name}",
            "REDIS_URL": f"redis://127.0.0.1:{valkey.port}/0",
        },
    )
    with workers(worker):
        steps = [f"look a{n}, deliver p{n}, think {n}" for n in range(6)]
        cases = [field.play(*steps, agent="script-flicker") for _ in range(6)]

        def moved() -> bool:
            """All get on: nobody is hit so often in one place that it counts as a crash loop."""
            now = [case.row() for case in cases]
            done = all(row.status == "succeeded" for row in now)
            more = sum(row.last_seq for row in now) >= seen + 4
            return done or (more and max(row.crash_count for row in now) == 0)

        strikes = (postgres.cut, postgres.swallow, valkey.cut)
        struck = 0
        for number in range(ROUNDS):
            seen = sum(case.row().last_seq for case in cases)
            strikes[number % 3]()
            struck += 1
            wait_until(
                moved,
                seconds=GOES_ON,
                what=lambda: (
                    "\n".join(case.summary() for case in cases) + worker.log.read_text()[-3000:]
                ),
            )
            if all(case.row().status == "succeeded" for case in cases):
                break
        done = [case.wait_status("succeeded", seconds=GOES_ON) for case in cases]
        assert worker.alive

    assert len(done) == 6
    assert struck >= 6
    assert postgres.cuts >= 3
    assert postgres.swallowed >= 2
    assert valkey.cuts >= 2
    again = 0
    for case in cases:
        notes = [f"{message} {part}{n}" for n in range(6) for message, part in PARTS]
        assert case.state()["notes"] == notes
        kinds = case.kinds()
        assert kinds.count("checkpoint.committed") == 6
        assert kinds.count("effect.finished") == 6
        assert kinds.count("activity.finished") == 6
        assert "thread.failed" not in kinds
        for n in range(6):
            keys = case.calls(f"p{n}")
            assert len(set(keys)) == 1
            again += len(keys) - 1
    # Whatever was called again was called with the same key; the strikes did hit.
    took = sum(case.kinds().count("lease.taken_over") for case in cases)
    assert took >= 1, "no strike hit a thread at work"


PARTS = (("saw", "a"), ("delivered", "p"))
