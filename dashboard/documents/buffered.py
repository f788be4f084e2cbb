"""Steps of a hot thread that are not in the database yet: how many, and what a change drops."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from checkpoints import queries
from checkpoints.durabilities import DURABLE, EVERYSEC, HOT, MAY_LOSE, Acknowledge
from checkpoints.hot.streams import HotStoreAway, Lag, lag_of
from checkpoints.queries.installation.fleet import announced_agent
from checkpoints.views import ThreadRow
from dashboard.wording.savings import counted
from dashboard.wording.text import span

from .state_shape import Shape


class Buffered(Shape):
    """Steps of a hot agent that were acknowledged and are not in the database yet.

    All else that an answer says of the thread is in the database.
    """

    acknowledge: Acknowledge = Field(
        description="where a step is when it counts as acknowledged; everysec: up to about two "
        "seconds of them may be lost"
    )
    steps: int | None = Field(
        description="how many the hot store holds; null while it does not answer"
    )
    durable_seq: int = Field(description="the newest event in the database")
    durable_number: int = Field(description="the newest checkpoint in the database")

    @classmethod
    def of(cls, row: ThreadRow) -> Self | None:
        """Of a thread as it is now; None where its steps do not wait in the hot store."""
        if row.durability != HOT:
            return None
        acknowledge = announced_agent(row.agent_version_id).acknowledge
        if acknowledge is None or acknowledge == DURABLE:
            return None
        lag = hot_lag(row)
        return cls(
            acknowledge=acknowledge,
            steps=None if lag is None else lag.entries,
            durable_seq=row.last_seq,
            durable_number=row.number,
        )


def hot_lag(row: ThreadRow) -> Lag | None:
    """The lag of a thread; None while the hot store does not answer."""
    try:
        return lag_of([row.id], patience=0)[row.id]
    except HotStoreAway:
        return None


def buffered_words(row: ThreadRow) -> str:
    """The steps of a thread that wait in the hot store, in words; empty of other agents."""
    if row.durability != HOT:
        return ""
    acknowledge = announced_agent(row.agent_version_id).acknowledge
    if acknowledge == DURABLE:
        return "Each step is acknowledged in the database."
    lost = f" {MAY_LOSE}" if acknowledge == EVERYSEC else ""
    lag = hot_lag(row)
    if lag is None:
        return f"The hot store doesn’t answer: steps that wait there aren’t shown.{lost}"
    if not lag.entries:
        return f"All steps are in the database.{lost}"
    steps = counted(lag.entries, "step")
    return f"{steps} not in the database yet, the first for {span(lag.seconds)}.{lost}"


def dropped_by_change(row: ThreadRow) -> str:
    """Steps that a change drops which takes a thread from its worker, in words; mostly none."""
    if row.durability != HOT:
        return ""
    stream = queries.hot_stream(row.id)
    if stream is None or stream.is_cut_off or hot_lag(row) is not None:
        return ""
    known = "nobody knows how many"
    if stream.number > row.number:
        known = f"at least those up to #{stream.number}"
    return (
        f"The hot store doesn’t answer. Steps after checkpoint #{row.number} that only it holds "
        f"are dropped: {known}. When it is back, the log names them."
    )
