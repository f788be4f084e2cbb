"""Send news to others, in a thread of the worker's main process.

Every worker does: claims keep them apart, and a mail server that hangs holds up no sweep.
"""

from __future__ import annotations

from typing import Any

from celery.signals import worker_ready, worker_shutdown

from approvals.notify.sender import Sender

from . import forks

_senders: list[Sender] = []


@worker_ready.connect(dispatch_uid="workers.slot.notifications.start")
def start_sender(**_kwargs: Any) -> None:
    """Begin with the worker."""
    sender = Sender(turn=forks.Turn().taken)
    sender.start()
    _senders.append(sender)


@worker_shutdown.connect(dispatch_uid="workers.slot.notifications.stop")
def stop_senders(**_kwargs: Any) -> None:
    """End with the worker; what is on its way and not noted is sent again."""
    while _senders:
        _senders.pop().stop()
