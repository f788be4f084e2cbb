"""The state of a thread as people and programs read it, in one shape."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    """Read by attribute from the frozen rows of the floors below."""

    model_config = ConfigDict(from_attributes=True)


class State(Shape):
    """The whole state at a checkpoint; `artifacts` are the files it refers to.

    `context` says where it stands: thread, checkpoint, agent, config, and as `history` the newest
    20 checkpoints on the way there, oldest first; `n_earlier` came before them. `summaries`, where
    there are any, stand for the older items of the channel that `of` names: `text` for `messages`.
    """

    name: str | None
    session_id: str | None = Field(description="the thread's name, by the word others use for it")
    version: int
    step: int
    status: Literal["running", "paused", "failed", "succeeded"] = Field(
        description="of the thread now, in few words; `attention` and `cancelled` are failed"
    )
    thread_status: str = Field(description="the same as everywhere else here")
    created_at: datetime
    updated_at: datetime
    context: dict[str, Any]
    artifacts: list[dict[str, Any]]
    state: dict[str, Any]
