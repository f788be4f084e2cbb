"""Rows 11 and 12 and the search of the record on a small scale: rows that fit, lines in form."""

from __future__ import annotations

import asyncio
import json

import psycopg
import pytest
from django.db import connection

from benchmarks.budgets import BUDGETS
from benchmarks.ground import workspace
from benchmarks.report import Measured, dumped, line
from benchmarks.rows.fleet import board, fill, plain, records, watchers
from checkpoints import queries
from checkpoints.states import Status

from .test_budgets import FORM

THREADS = 2_000


@pytest.mark.nightly
@pytest.mark.usefixtures("real_db")
def test_a_small_fleet_is_filled_looked_at_and_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "LOOKS", 2)
    monkeypatch.setattr(board, "BEFORE", 1)
    monkeypatch.setattr(records, "LOOKS", 2)
    monkeypatch.setattr(records, "PAGE_MS", 100_000)  # other tests work beside it
    address = " ".join(
        f"{key}='{connection.settings_dict[name]}'"
        for key, name in (("host", "HOST"), ("port", "PORT"), ("dbname", "NAME"), ("user", "USER"))
        if connection.settings_dict[name]
    )
    with psycopg.connect(address, autocommit=True, prepare_threshold=0) as raw:
        growth = Measured({})
        board.grown(raw, THREADS // 2, THREADS, growth)
        counts = queries.counts(workspace=workspace())
        assert sum(counts.values()) == THREADS + 6
        assert counts[Status.WAITING] == THREADS // 10 + 2
        [(events, longest)] = raw.execute(
            "SELECT count(*), max(n) FROM (SELECT count(*) AS n FROM gp_event e "
            "JOIN bench_thread t ON t.id = e.thread_id GROUP BY e.thread_id) x"
        ).fetchall()
        assert (events, longest) == (THREADS, fill.EVENTS)
        measured = board.figures(raw)
        measured.values |= growth.values
        result = line(11, measured)
        assert tuple(key for key in FORM if key in result) == FORM
        assert json.loads(dumped(result)) == result
        parts = result["parts"]
        assert set(parts) == set(BUDGETS[11].parts)
        assert parts["html_kb"]["ok"] is True
        assert parts["counts_ms"]["baseline"] > 0
        lines = list(records.measure(raw, 3_000))
    assert [one["row"] for one in lines] == ["records"] * len(lines)
    assert all(one["ok"] for one in lines)
    assert lines[-1]["events"] == 3_000


class Silent(asyncio.Transport):
    """Takes what is written and sends nothing."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        pass


def test_messages_are_read_however_they_are_cut() -> None:
    async def heard(pieces: list[bytes]) -> watchers.Seen:
        seen = watchers.Seen()
        watcher = watchers.Watcher(seen, b"", b"join", reads=True)
        watcher.connection_made(Silent())
        for piece in pieces:
            watcher.data_received(piece)
        return seen

    long = json.dumps({"type": "frame", "topic": "t", "seq": 7, "regions": {"a": "x" * 70_000}})
    text = long.replace(": ", ":").replace(", ", ",").encode()
    huge = bytes([129, 127]) + len(text).to_bytes(8) + text
    stream = b"HTTP/1.1 101 Yes\r\n\r\n" + plain.FIRST + huge + plain.PROGRESS * 2
    for size in (1, 7, 1_000, len(stream)):
        seen = asyncio.run(heard([stream[i : i + size] for i in range(0, len(stream), size)]))
        assert {seq: len(times) for seq, times in seen.frames.items()} == {1: 1, 7: 1}
        assert (seen.progress, seen.joined) == (2, 1)
