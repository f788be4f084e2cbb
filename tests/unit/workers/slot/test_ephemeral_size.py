"""What turns of ephemeral threads leave in PostgreSQL: bytes and dead tuples, as it counts them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from checkpoints.ephemeral import copies
from tests.conftest import real_database
from tests.unit.workers.conftest import bench_of
from tests.unit.workers.graphs import ephemeral
from workers.slot import loop
from workers.slot.claims import take

# Bytes of a turn by how many a chat has: the first one pays for the thread's row and its indexes.
BYTES_MAX = {1: 3_072, 10: 2_048}
DEAD_MAX = 2.0
# Every table that a turn could write to.
TABLES = (
    *("gp_thread", "gp_event", "gp_wake", "gp_checkpoint", "gp_activity", "gp_keyframe"),
    *("gp_content", "gp_artifact", "gp_spend_reservation", "gp_figure_change"),
)


def _sizes() -> int:
    """Bytes of these tables with indexes once what is dead has been cleared away."""
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM (FULL) {', '.join(TABLES)}")
        cursor.execute(
            "SELECT sum(pg_total_relation_size(t::regclass)) FROM unnest(%s::text[]) t",
            (list(TABLES),),
        )
        return int(cursor.fetchone()[0])


def _dead() -> int:
    """Rows that were updated or deleted since the database began; each leaves a dead tuple."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            "SELECT sum(n_tup_upd + n_tup_del) FROM pg_stat_user_tables "
            "WHERE relname = ANY(%s::text[])",
            (list(TABLES),),
        )
        return int(cursor.fetchone()[0])


def _measure(
    n_turns: int, turns_of_a_chat: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[float, float]:
    """(bytes, dead tuples) of each turn, in chats of so many turns."""
    bench = bench_of(ephemeral)
    agents = {"chat": bench.agent}
    monkeypatch.setattr(loop, "agents", lambda: agents)
    threads: list[Any] = []

    def turn() -> None:
        work = take(threads[-1], owner="worker:test", agents=agents)
        assert work is not None
        loop.work_on(work)

    size, dead = _sizes(), _dead()
    for number in range(n_turns):
        message = {"role": "user", "content": f"message {number}, " + 40 * "of many words "}
        if number % turns_of_a_chat == 0:
            threads.append(bench.start(messages=[message]))
        else:
            copies.send(threads[-1], queue="gatepost", message=message, actor="user:1", ttl=60)
        turn()
    row = bench.row(threads[0])
    assert (row.status, row.n_steps) == ("succeeded", turns_of_a_chat)
    dead = _dead() - dead
    return (_sizes() - size) / n_turns, dead / n_turns


@pytest.mark.slow
@pytest.mark.requirement("A14")
@pytest.mark.requirement("B15")
@pytest.mark.parametrize(
    ("n_turns", "turns_of_a_chat"),
    [
        (300, 10),
        pytest.param(10_000, 10, marks=pytest.mark.nightly),
        pytest.param(3_000, 1, marks=pytest.mark.nightly),
    ],
)
def test_a_turn_leaves_little(
    django_db_setup: None,
    django_db_blocker: Any,
    monkeypatch: pytest.MonkeyPatch,
    n_turns: int,
    turns_of_a_chat: int,
) -> None:
    name = f"gatepost_turns_{n_turns}_{turns_of_a_chat}"
    with django_db_blocker.unblock(), real_database(name):
        size, dead = _measure(n_turns, turns_of_a_chat, monkeypatch)
    print(f"a turn leaves {size:,.0f} bytes and {dead:.2f} dead tuples")
    assert size <= BYTES_MAX[turns_of_a_chat]
    assert dead <= DEAD_MAX
