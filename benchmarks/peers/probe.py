"""What every peer script shares: the task's text, clocks, bytes and write transactions.

These scripts are run by the peers' own Python and import nothing of Gatepost.
"""

from __future__ import annotations

import json
import random
import statistics
import string
import sys
import time
from collections.abc import Callable
from typing import Any

import psycopg

_random = random.Random(7)
_TEXT = "".join(_random.choices(string.ascii_letters + string.digits, k=64_000))


def text(number: int, size: int) -> str:
    """The text of a step, as the agents of the bench make it."""
    begin = number * (size + 1) % (len(_TEXT) - size)
    return _TEXT[begin : begin + size]


class Probe:
    """Looks at the database from a connection of its own."""

    def __init__(self, address: str) -> None:
        self._link = psycopg.connect(address, autocommit=True)

    def _one(self, sql: str) -> Any:
        row = self._link.execute(sql).fetchone()
        assert row is not None
        return row[0]

    def bytes(self) -> int:
        """All tables of the database with their indexes and TOAST."""
        return int(
            self._one(
                "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
                "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' "
                "AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
            )
        )

    def rows(self, table: str) -> int:
        """All rows of one table."""
        return int(self._one(f"SELECT count(*) FROM {table}"))

    def transactions(self) -> int:
        """Write transactions so far."""
        return int(self._one("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"))


def median_ms(read: Callable[[], Any], times: int) -> float:
    """The median of several calls in milliseconds, the first not counted."""
    read()
    results = []
    for _ in range(times):
        began = time.perf_counter()
        read()
        results.append(time.perf_counter() - began)
    return statistics.median(results) * 1e3


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Read one JSON object from stdin, answer one on stdout; whatever else prints goes aside."""
    out, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps(answer(json.load(sys.stdin))), file=out, flush=True)
