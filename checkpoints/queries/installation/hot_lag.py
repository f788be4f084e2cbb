"""How far PostgreSQL is behind the hot store, and from which lag on people are told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from checkpoints.hot.streams import HotStoreAway, Lag, lag_of, threads_with_entries
from checkpoints.postgres.named_rows import fetch_named


@dataclass(frozen=True, slots=True)
class AgentLag:
    """Steps of an agent that are not drained: in all, of how many threads, the oldest's age."""

    workspace: UUID
    agent: str
    steps: int
    threads: int
    seconds: float

    @property
    def is_late(self) -> bool:
        """Answer True from the lag on that is an alarm."""
        return self.seconds >= lag_alarm_seconds()


def lag_alarm_seconds() -> float:
    """Age of the oldest step that is not drained from which on people are told."""
    return float(getattr(settings, "GATEPOST_HOT_LAG_SECONDS", 30))


def late_threads(threads: Sequence[UUID]) -> dict[UUID, Lag]:
    """Those of these threads whose lag is an alarm; none while the hot store does not answer."""
    if not threads:
        return {}
    try:
        lags = lag_of(threads, patience=0)
    except HotStoreAway:
        return {}
    least = lag_alarm_seconds()
    return {thread: lag for thread, lag in lags.items() if lag.entries and lag.seconds >= least}


def agent_lags() -> list[AgentLag]:
    """The agents with steps to drain, of all workspaces. Raises HotStoreAway, without waiting."""
    threads = threads_with_entries(patience=0)
    if not threads:
        return []
    rows = fetch_named(
        "SELECT id, workspace_id, agent FROM gp_thread WHERE id = ANY(%s::uuid[])", (threads,)
    )
    lags = lag_of([row.id for row in rows], patience=0)
    by_agent: dict[tuple[UUID, str], list[Lag]] = defaultdict(list)
    for row in rows:
        if lags[row.id].entries:
            by_agent[row.workspace_id, row.agent].append(lags[row.id])
    return [
        AgentLag(workspace, agent, *_summed(of_agent))
        for (workspace, agent), of_agent in sorted(by_agent.items())
    ]


def _summed(lags: Iterable[Lag]) -> tuple[int, int, float]:
    counted = list(lags)
    return sum(lag.entries for lag in counted), len(counted), max(lag.seconds for lag in counted)
