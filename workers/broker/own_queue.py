"""The queue that only one worker listens to: its canaries, and doorbells meant for it alone."""

from __future__ import annotations

from typing import Any, Final, cast

from kombu.entity import Exchange, Queue

KEPT_SECONDS: Final = 60.0  # the broker forgets the queue of a worker that is gone


def own_queue(worker: str) -> Any:
    """The queue of a worker of this id; on the default exchange, so nothing is left to unbind."""
    name = f"gatepost.canary.{worker.partition(':')[2]}"
    queue, exchange = cast(Any, Queue), cast(Any, Exchange)
    return queue(name, exchange(""), routing_key=name, durable=False, expires=KEPT_SECONDS)
