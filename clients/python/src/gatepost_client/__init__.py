"""Put a Python function under control: kept steps, effects that wait for people, resume by name."""

from . import memories
from .agents import Agent, agent
from .parts import ask, effect, messages, step, think
from .readings import reveal, signal
from .record.declared import Approve
from .record.outcomes import NotDone
from .wire.errors import (
    WAITING_EXIT_CODE,
    Cancelled,
    ClientError,
    Ended,
    Expired,
    InvalidValue,
    LeaseLost,
    NotConfigured,
    Refused,
    Rejected,
    Stop,
    Unreachable,
    Waiting,
)
from .wire.settings import Settings

__all__ = [
    "WAITING_EXIT_CODE",
    "Agent",
    "Approve",
    "Cancelled",
    "ClientError",
    "Ended",
    "Expired",
    "InvalidValue",
    "LeaseLost",
    "NotConfigured",
    "NotDone",
    "Refused",
    "Rejected",
    "Settings",
    "Stop",
    "Unreachable",
    "Waiting",
    "agent",
    "ask",
    "effect",
    "memories",
    "messages",
    "reveal",
    "signal",
    "step",
    "think",
]
