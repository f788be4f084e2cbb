"""Requests that reach the product at the same moment, each on a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connections


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
