"""Celery tasks: thin. A message is a doorbell with an id; PostgreSQL knows what is to do."""

from __future__ import annotations

from celery import Task, shared_task

from . import shared_page
from .broker import trace_ids
from .slot import canary as own_canary
from .slot import notifications as own_notifications  # noqa: F401  (the same)
from .slot import (
    spans,  # noqa: F401  (the same)
    startup,  # noqa: F401  (connects signals of the worker's main process)
    sweep,  # noqa: F401  (connects the signals of the worker's main process)
    vectors,  # noqa: F401  (the same)
)
from .slot.loop import advance_and_claim


@shared_task(name="gatepost.advance", bind=True, ignore_result=True)
def advance(self: Task[..., None], thread_id: str) -> None:
    """Look at a thread; afterwards see that no other one is left behind."""
    shared_page.turn()  # one that stands still before it has a lease is found by this
    try:
        advance_and_claim(
            thread_id,
            queue=self.request.delivery_info["routing_key"],
            request=self.request.get(trace_ids.HEADER),
        )
    finally:
        shared_page.rest()


@shared_task(name="gatepost.canary", ignore_result=True)
def canary(worker: str) -> None:
    """Prove that this worker takes messages and that a slot does what they say."""
    own_canary.answer(worker)
