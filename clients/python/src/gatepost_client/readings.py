"""Reading threads and sending signals to them, inside of an agent or without one."""

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


def signal(
    thread: str, name: str, value: Any = None, *, agent: str = "", settings: Settings | None = None
) -> None:
    """Send news from outside to the wait of a thread, now or when that wait begins.

    `thread` is its id, or with `agent` the name that it was started with. The token needs the scope
    `signal` alone; one that can do more is asked for a second person where a policy says so.
    Without `settings` those of the environment. Raises Refused, for that with the status 202.
    """
    chosen = settings or Settings.from_environment()
    with Blocking(chosen.url, chosen.headers) as transport:
        transport.perform(api.send_signal(thread, name, value, agent))
