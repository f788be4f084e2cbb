"""The database beside a running event loop: an `async def` activity reports like any other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from django.db import connections


def beside_a_loop[T](call: Callable[[], T]) -> T:
    """The answer of a short call on the database, wherever the caller stands.

    Django refuses queries in a thread whose event loop is running, so that none of them holds
    others up unseen. Here one activity has the loop for itself and waits: the call is done in a
    thread of its own, with a connection that goes back afterwards.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return call()
    if os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE"):
        return call()

    def apart() -> T:
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1, "gatepost-beside-a-loop") as pool:
        return pool.submit(copy_context().run, apart).result()
