"""Reading threads, inside of an agent or without one."""

from __future__ import annotations

from typing import Any

from .wire import api
from .wire.settings import Settings
from .wire.transports import Blocking


def reveal(
    thread: str, channel: str, *, checkpoint: str = "", settings: Settings | None = None
) -> Any:
    """Read the value of an encrypted channel of a thread, at its head or at a checkpoint.

    The token needs the scope `reveal`, its user a role that the channel names; each reading is
    recorded. Without `settings` those of the environment. Raises Refused. A step that returns the
    value stores it in plain.
    """
    chosen = settings or Settings.from_environment()
    with Blocking(chosen.url, chosen.headers) as transport:
        return transport.perform(api.reveal_channel(thread, channel, checkpoint))
