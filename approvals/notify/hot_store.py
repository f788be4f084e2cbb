"""Alarms of the hot store: it fills up, or its steps wait too long to be written to PostgreSQL."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import transaction
from uuid_utils.compat import uuid7

from checkpoints import queries, store
from checkpoints.hot.persistence import ALARM_SHARE, filling, read_persistence
from checkpoints.hot.streams import HotStoreAway
from checkpoints.queries import AgentLag
from checkpoints.signals import board_changed

from .. import outbox

log = structlog.get_logger("gatepost.hot_store")
KIND: Final = "hot_store.filling"
LATE: Final = "hot_store.late"
DRAINED: Final = "hot_store.drained"
# Of the duty that notes the alarm of a workspace, before its id.
_ALARM: Final = "hot_late:"
# So long nothing more is said of a store that stays as full.
SILENCE_SECONDS: Final = 3600.0


def announce_filling() -> int:
    """Put one news for each workspace in the outbox while the hot store is nearly full; how many.

    A hot store that is away is no news here: each append to it fails with an error of its own.
    """
    import redis

    try:
        persistence = read_persistence(timeout=1.0)
    except (redis.RedisError, OSError):
        return 0
    if persistence.share < ALARM_SHARE:
        return 0
    with transaction.atomic():
        # A duty that each call takes in a name of its own: one of them in an hour gets it.
        if not store.claim_duty(KIND, owner=str(uuid7()), seconds=SILENCE_SECONDS):
            return 0
        (fault,) = filling(persistence)
        log.critical(KIND, share=round(persistence.share, 3), used=persistence.used_bytes)
        heads = list(queries.heads("workspace"))
        for head in heads:
            data = {
                "what": f"{fault.sentence} {fault.cure}",
                "used_bytes": persistence.used_bytes,
                "limit_bytes": persistence.limit_bytes,
            }
            outbox.add(KIND, workspace=head.ident, thread=None, data=data)
    return len(heads)


def announce_lag() -> int:
    """Put news in the outbox where steps wait too long, and once they no longer do; how many.

    While the hot store is away nobody knows the lag: what was announced stays.
    """
    try:
        lags = queries.agent_lags()
    except HotStoreAway:
        return 0
    late: dict[UUID, list[AgentLag]] = defaultdict(list)
    for one in lags:
        if one.is_late:
            late[one.workspace].append(one)
    begun = sum(_begin_alarm(workspace, agents) for workspace, agents in late.items())
    held = queries.duties_held(_ALARM)
    alarmed = [UUID(name.removeprefix(_ALARM)) for name in held]
    return begun + sum(_end_alarm(one) for one in alarmed if one not in late)


def _begin_alarm(workspace: UUID, agents: list[AgentLag]) -> bool:
    steps, seconds = sum(one.steps for one in agents), max(one.seconds for one in agents)
    least = queries.lag_alarm_seconds()
    names = ", ".join(one.agent for one in agents)
    what = (
        f"Steps of {names} are not in the database ({steps}), the first for {seconds:.0f} s; from "
        f"{least:.0f} s on this is an alarm. Look whether a worker with these agents runs and what "
        "its log says (hot.not_drained); `doctor` looks at the hot store."
    )
    with transaction.atomic():
        if not store.claim_duty(
            f"{_ALARM}{workspace}", owner=str(uuid7()), seconds=SILENCE_SECONDS
        ):
            return False
        log.critical(LATE, workspace=str(workspace), steps=steps, seconds=round(seconds, 1))
        data = {"what": what, "steps": steps, "seconds": round(seconds), "limit_seconds": least}
        _tell(LATE, workspace, data)
    return True


def _end_alarm(workspace: UUID) -> bool:
    with transaction.atomic():
        if not store.end_duty(f"{_ALARM}{workspace}"):
            return False
        log.info(DRAINED, workspace=str(workspace))
        what = f"No step waits for {queries.lag_alarm_seconds():.0f} s any more."
        _tell(DRAINED, workspace, {"what": what})
    return True


def _tell(kind: str, workspace: UUID, data: dict[str, Any]) -> None:
    """Put the news in the outbox; boards look again once it is committed."""
    outbox.add(kind, workspace=workspace, thread=None, data=data)
    changed = partial(board_changed.send_robust, sender=None, workspace=workspace)
    transaction.on_commit(changed, robust=True)
