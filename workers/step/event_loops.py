"""Calls from a thread whose event loop is running: they are made in a thread of their own.

Django refuses queries there, so that none of them holds others up unseen, and `asyncio.run` refuses
a second loop. A node may run a loop all the same (`agent.run_sync()` of a framework), and whatever
calls `ctx` inside it waits for the answer.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial

from django.conf import settings
from django.db import connections


def loop_is_running() -> bool:
    """Answer True if an event loop is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def beside_a_loop[**P, T](call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of a short call on the database, wherever the caller stands."""
    if not loop_is_running() or os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE"):
        return call(*args, **kwargs)
    return in_own_thread(partial(call, *args, **kwargs))


def in_own_thread[T](call: Callable[[], T]) -> T:
    """The result of a call made in a new thread with the same context; its connections go back."""

    def apart() -> T:
        try:
            return call()
        finally:
            if settings.configured:  # a play of the Harness needs none
                connections.close_all()

    with ThreadPoolExecutor(1, "gatepost-beside-a-loop") as pool:
        return pool.submit(copy_context().run, apart).result()
