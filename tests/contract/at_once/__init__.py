"""Requests that reach the product at the same moment, each on a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connection, connections

from checkpoints import chain


def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """The answers of calls that start together, in their order; each has its own connection."""
    start = threading.Barrier(len(calls))

    def one(call: Callable[[], Any]) -> Any:
        connections["default"].ensure_connection()
        start.wait(30)
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def in_turn(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """The answers of calls that are made one after the other."""
    return [call() for call in calls]


def broken_logs() -> list[str]:
    """What verifying says of each thread and workspace whose log or record does not fit."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM gp_thread ORDER BY id")
        threads = [thread for (thread,) in cursor.fetchall()]
        cursor.execute("SELECT id FROM gp_workspace ORDER BY id")
        workspaces = [workspace for (workspace,) in cursor.fetchall()]
    reports = [*map(chain.verify_thread, threads), *map(chain.verify_workspace, workspaces)]
    return [report.what for report in reports if not report.intact]
