"""Honest values survive a dump and its restore, by the tools of PostgreSQL itself."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.queries import events_after
from checkpoints.state import deltas
from checkpoints.states import EventKind
from dashboard.operate.embedded.process.library import postgres_programs
from dashboard.records.integrity import anchors
from tests.unit.checkpoints.builders import (
    drive,
    head_of,
    make_thread,
    make_workspace,
    new_activity,
    rows,
)

# What a reader of JSON or a spelling of jsonb likes to bend.
HONEST: dict[str, Any] = {
    "1e16": 1e16,
    "1e22": 1e22,
    "minus zero": -0.0,
    "1.5e300": 1.5e300,
    "small": 5e-324,
    "thirds": 0.1 + 0.2,
    "money in cents": 10**15,
    "money": "1000000000000000.00",
    "last integer": 2**53 - 1,
    "text": "\u2028 \U0001f600 \u00e4 e\u0308",
}


def tool(name: str, database: str, *arguments: str) -> None:
    """A program of the PostgreSQL that the tests work on."""
    done = subprocess.run(
        [
            str(postgres_programs(settings.PLACES) / name),
            f"--host={connection.settings_dict['HOST']}",
            f"--username={connection.settings_dict['USER']}",
            f"--dbname={database}",
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def restored(database: str, dump: Path) -> Iterator[None]:
    """Let this process read the dump, restored into a database of its own."""
    new = f"{database}_restored"
    address = f"host='{connection.settings_dict['HOST']}' dbname=postgres user=gatepost"
    with psycopg.connect(address, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {new} TEMPLATE template0")
        try:
            tool("pg_restore", new, "--no-owner", "--exit-on-error", str(dump))
            connection.close()
            connection.settings_dict["NAME"] = new
            yield
        finally:
            connection.close()
            connection.settings_dict["NAME"] = database
            server.execute(f"DROP DATABASE {new} WITH (FORCE)")


def summary(thread: UUID) -> dict[str, Any]:
    """All that a thread says of itself, values as canonical bytes."""
    points = queries.checkpoints(thread, limit=100).rows
    return {
        "events": [(e.seq, e.hash, deltas.canonical(e.data)) for e in events_after(thread, 0)],
        "states": [
            (p.number, p.state_hash, deltas.canonical(queries.state_at(thread, p.id)))
            for p in points
        ],
        "activities": [deltas.canonical([a.args, a.result]) for a in queries.activities(thread)],
    }


@pytest.mark.slow
@pytest.mark.parametrize("how", ["custom", "plain inserts"])
def test_honest_values_survive_a_dump_and_its_restore(
    real_db: str, tmp_path: Path, how: str
) -> None:
    thread = make_thread(workspace=make_workspace(), input={"goal": "honest", "facts": HONEST})
    driver = drive(thread)
    for name, value in HONEST.items():
        done = new_activity(driver.work, f"look#{name}", args={"value": value})
        store.record_activity(driver.work, done, result={"found": value})
        driver.step({"append": {"log": [value]}})
    store.write_keyframe(
        thread, 5, queries.state_at(thread, queries.checkpoint_by_number(thread, 5).id)
    )
    store.hand_back(driver.work, reason="")
    before = summary(thread)
    state = queries.state_at(thread, head_of(thread))
    assert state["facts"] == HONEST
    assert state["log"] == [*HONEST.values()]

    dump = tmp_path / "gatepost.dump"
    if how == "custom":
        tool("pg_dump", real_db, "--format=custom", f"--file={dump}")
    else:  # every value spelt out as text and read again
        tool("pg_dump", real_db, "--format=custom", "--inserts", f"--file={dump}")
    with restored(real_db, dump):
        assert rows("SELECT current_database()") == [(f"{real_db}_restored",)]
        assert summary(thread) == before
        assert queries.state_at(thread, head_of(thread)) == state
        report = verify_thread(thread)
        assert report.intact, report.what
        assert report.n_events == len(before["events"])
        # It goes on there: what comes next is chained to what was restored.
        drive(thread).step({"append": {"log": [1e16]}})
        assert verify_thread(thread).intact
    assert summary(thread) == before


def test_an_old_dump_that_is_put_back_is_found_by_its_anchor(real_db: str, tmp_path: Path) -> None:
    workspace = make_workspace()
    longer, same = (make_thread(workspace=workspace) for _ in range(2))
    drive(longer, 2)
    drive(same, 2)
    dump, early, late = (tmp_path / name for name in ("old.dump", "early.anchor", "late.anchor"))
    tool("pg_dump", real_db, "--format=custom", f"--file={dump}")
    anchors.write(early)
    store.add_event(longer, store.NewEvent(EventKind.VALUE_RECORDED, {"value": 1}, "user:1"))
    new = make_thread(workspace=workspace)
    anchors.write(late)
    assert not [*anchors.deviations(early), *anchors.deviations(late)]
    with restored(real_db, dump):
        for thread in (longer, same):
            report = verify_thread(thread)
            assert report.intact, "in itself an old dump holds"
        assert not [*anchors.deviations(early)]
        results = {d.ident: d.what for d in anchors.deviations(late)}
        assert results.keys() == {longer, new}
        assert "ends before" in results[longer]
        assert "gone" in results[new]
        # Whoever goes on from there writes another event in its place.
        store.add_event(longer, store.NewEvent(EventKind.VALUE_RECORDED, {"value": 2}, "user:1"))
        assert verify_thread(longer).intact
        (forged,) = (d for d in anchors.deviations(late) if d.ident == longer)
        assert "not the one that was anchored" in forged.what
    assert not [*anchors.deviations(late)]
