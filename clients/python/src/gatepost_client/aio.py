"""`ask`, `messages`, `reveal` and `signal` for `async def`; everything else serves both."""

from __future__ import annotations

from typing import Any

from .current import await_, required
from .parts import question_of
from .record.steps import perform_question, take_messages
from .wire import api
from .wire.settings import Settings
from .wire.transports import Awaiting


async def ask(
    question: str,
    *,
    schema: Any = None,
    description: str = "",
    risk: str = "",
    expires_in: float | None = None,
) -> Any:
    """Ask people and wait for their answer, as `gatepost_client.ask` does."""
    scope = required("ask()")
    payload = question_of(question, schema, description, risk, expires_in)
    return await await_(scope, perform_question(scope.work, payload))


async def messages(wait: float = 0) -> list[Any]:
    """Take what people have sent, as `gatepost_client.messages` does."""
    scope = required("messages()")
    return await await_(scope, take_messages(scope.work, wait))


async def reveal(
    thread: str, channel: str, *, checkpoint: str = "", settings: Settings | None = None
) -> Any:
    """Read the value of an encrypted channel, as `gatepost_client.reveal` does."""
    chosen = settings or Settings.from_environment()
    transport = Awaiting(chosen.url, chosen.headers)
    try:
        return await transport.perform(api.reveal_channel(thread, channel, checkpoint))
    finally:
        await transport.close()


async def signal(
    thread: str, name: str, value: Any = None, *, agent: str = "", settings: Settings | None = None
) -> None:
    """Send news from outside to the wait of a thread, as `gatepost_client.signal` does."""
    chosen = settings or Settings.from_environment()
    transport = Awaiting(chosen.url, chosen.headers)
    try:
        await transport.perform(api.send_signal(thread, name, value, agent))
    finally:
        await transport.close()
