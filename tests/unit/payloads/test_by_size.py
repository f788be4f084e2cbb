"""Values of a hot agent lie where their size puts them, and everything else is as it ever was."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.files.storage import default_storage
from django.db import transaction

from approvals.verification.proof import verify
from checkpoints import payloads, queries, store
from checkpoints.errors import ContentAway, CorruptHistory
from checkpoints.hot import streams
from checkpoints.payload_kinds import BY_SIZE
from tests.faults.agents import sized_agents
from tests.faults.agents.sized_agents import LARGE, MIDDLE, expected, text_of
from tests.support.cast import make_cast
from tests.unit.checkpoints.builders import expire, rows
from tests.unit.workers.conftest import Bench
from tests.unit.workers.step.test_hot_ledger import taken, worked
from workers.code.registry import announce

pytestmark = [pytest.mark.usefixtures("real_db", "hot_store"), pytest.mark.requirement("B16")]
UNTIL = 60
PLACES = {
    **dict.fromkeys(("folder", "until", "huge_at", "n", "log", "middle"), "database"),
    "large": "file",
}


@pytest.fixture
def bench(settings: Any, tmp_path: Path) -> Bench:
    settings.GATEPOST_LEASE_SECONDS = 1.0
    settings.MEDIA_ROOT = tmp_path / "media"
    workspace = store.create_workspace("sized", actor="user:0")
    return Bench(announce(sized_agents.graph, {}, [sized_agents]), workspace)


def ended(bench: Bench, until: int = UNTIL, **more: Any) -> UUID:
    thread = bench.start(until=until, **more)
    worked(bench, taken(thread))
    return thread


def in_files(thread: UUID) -> list[int]:
    """The sizes of the files of a thread's contents."""
    folder = f"threads/{thread}/contents"
    try:
        _, names = default_storage.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(default_storage.size(f"{folder}/{name}") for name in names)


def in_database(thread: UUID) -> list[int]:
    counted = rows(
        "SELECT octet_length(body) FROM gp_content WHERE thread_id = %s ORDER BY 1", [thread]
    )
    return [size for (size,) in counted]


def places(thread: UUID, checkpoint: UUID) -> dict[str, str]:
    return {one.channel: one.store for one in queries.places_at(thread, checkpoint)}


def test_small_steps_wait_in_the_hot_store_and_large_values_go_to_files(bench: Bench) -> None:
    thread = bench.start(until=UNTIL)
    worked(bench, taken(thread), until=39)
    assert streams.lag_of([thread])[thread].entries > 0, "small steps are buffered"
    assert (in_database(thread), in_files(thread)) == ([MIDDLE + 2], [])
    expire(thread)
    worked(bench, taken(thread))
    assert (in_database(thread), in_files(thread)) == ([MIDDLE + 2], [LARGE + 2])
    state = bench.state(thread)
    assert {name: state[name] for name in expected(UNTIL)} == expected(UNTIL)
    assert places(thread, bench.row(thread).head) == PLACES
    assert verify(thread).intact
    assert queries.storage(thread).file_bytes == LARGE + 2


def test_hashes_are_those_of_a_thread_that_lies_in_the_database(
    bench: Bench, settings: Any
) -> None:
    one = ended(bench)
    settings.GATEPOST_CONTENT_LARGE_BYTES = 0
    other = ended(bench)
    assert in_files(other) == []
    assert len(in_database(other)) == 2
    hashes = [
        [(c.number, c.state_hash) for c in bench.checkpoints(thread)] for thread in (one, other)
    ]
    assert hashes[0] == hashes[1]
    assert places(other, bench.row(other).head) == {**PLACES, "large": "database"}


def test_forks_and_rollbacks_share_the_file(bench: Bench) -> None:
    thread = ended(bench)
    before = bench.state(thread)
    fork = bench.fork(thread, 50, {})
    assert bench.state(fork)["large"] == text_of(40, LARGE)
    assert in_files(fork) == []
    assert places(fork, bench.row(fork).head)["large"] == "file"
    worked(bench, taken(fork))
    assert bench.state(fork) == before
    assert bench.roll_back(thread, 45).status == "paused"
    assert bench.state(thread)["large"] == text_of(40, LARGE)
    assert in_files(thread) == [LARGE + 2]
    assert all(verify(one).intact for one in (thread, fork))


def test_a_drive_that_is_away_is_no_damage_and_a_lost_row_is(bench: Bench, tmp_path: Path) -> None:
    thread = ended(bench)
    rows("DELETE FROM gp_keyframe WHERE thread_id = %s", [thread])  # it would spare the read
    (tmp_path / "media").rename(tmp_path / "unmounted")
    with pytest.raises(ContentAway):
        bench.state(thread)
    (tmp_path / "unmounted").rename(tmp_path / "media")
    assert bench.state(thread)["n"] == UNTIL
    (file,) = (tmp_path / "media/threads" / str(thread) / "contents").iterdir()
    raw = file.read_bytes()
    file.write_bytes(raw.replace(b"x", b"y"))
    assert not verify(thread).intact
    file.write_bytes(raw)
    assert verify(thread).intact
    without_files = ended(bench, until=30)
    for one in (thread, without_files):
        rows("DELETE FROM gp_keyframe WHERE thread_id = %s", [one])
        with transaction.atomic():
            rows("SET LOCAL session_replication_role = replica")
            rows("DELETE FROM gp_content WHERE thread_id = %s", [one])
        with pytest.raises(CorruptHistory):
            bench.state(one)
        assert not verify(one).intact


def test_a_value_beyond_the_limit_is_a_clear_error_and_nothing_is_lost(bench: Bench) -> None:
    thread = bench.start(until=UNTIL, huge_at=30)
    worked(bench, taken(thread))
    row = bench.row(thread)
    assert row.status == "failed"
    assert re.search(r"8.*(MiB|bytes)|8388608|8,388,608", row.status_reason), row.status_reason
    assert row.number == 30, "what came before it is in the database"
    assert bench.state(thread)["log"] == list(range(30))
    assert streams.lag_of([thread])[thread].entries == 0
    assert verify(thread).intact


def test_the_agents_of_before_are_stored_as_before(bench: Bench) -> None:
    assert payloads.kind_of(bench.agent.version_id) == BY_SIZE
    kinds = {choice: payloads.of_kind(choice).__class__.__name__ for choice in ("database", "file")}
    assert kinds == {"database": "DatabasePayloads", "file": "FilePayloads"}


def test_the_anatomy_says_where_each_value_lies(settings: Any, bench: Bench) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    cast = make_cast(" sized")
    bench = Bench(bench.agent, cast.workspace)
    thread = bench.start(until=UNTIL)
    worked(bench, taken(thread), until=55)
    head = bench.row(thread)
    waiting = streams.lag_of([thread])[thread].entries
    assert waiting
    page = cast.client("operator").get(
        f"/threads/{thread}/?tab=anatomy", headers={"host": "localhost"}
    )
    cells = dict(
        re.findall(
            r'<div data-store="(?:[a-z ]+)">\s*<dt>(\w+)</dt>\s*<dd>(.*?)</dd>',
            page.content.decode(),
            re.DOTALL,
        )
    )
    words = {name: " ".join(re.sub("<[^>]+>", " ", text).split()) for name, text in cells.items()}
    assert words["large"].startswith("file 400 kB"), words
    assert words["middle"].startswith("database 60 kB"), words
    assert f"newer value in the hot store: {waiting} steps not in the database yet" in words["n"]
    assert "hot store" not in words["until"]
    assert head.number >= 40
