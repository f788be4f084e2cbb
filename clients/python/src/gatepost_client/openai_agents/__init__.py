"""The OpenAI Agents SDK under control: approvals per call, sealed run states, recorded calls.

Import `Runner` from here, and call it inside of a function with `@controlled`, which is
`@gatepost_client.agent`. Needs the extra `openai-agents`.
"""

from ..agents import agent as controlled
from .conversation import Session
from .memory import MemorySession
from .recorded import idempotency_key
from .runs import Runner, control

__all__ = ["MemorySession", "Runner", "Session", "control", "controlled", "idempotency_key"]
