"""A durable engine for Pydantic AI: calls are activities, people decide in the inbox.

Add `capabilities=[Gatepost()]` to an agent with a name, and call it inside of a function with
`@gatepost_client.agent`. Needs the extra `pydantic-ai`.
"""

from ..agents import agent as controlled
from .activities import idempotency_key
from .engine import Gatepost
from .history import MessageHistory

__all__ = ["Gatepost", "MessageHistory", "controlled", "idempotency_key"]
