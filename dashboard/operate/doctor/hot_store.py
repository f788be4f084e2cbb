"""Checks of the hot store: it answers, keeps what it acknowledges, and stands by itself."""

from __future__ import annotations

from collections.abc import Iterator

import redis
from django.conf import settings

from checkpoints import queries
from checkpoints.durabilities import EVERYSEC, MAY_LOSE
from checkpoints.hot.persistence import faults, read_persistence
from checkpoints.views import AgentRow
from dashboard.kit.terminal.console import first_line
from dashboard.operate.embedded.damaged_files import damages
from dashboard.wording.text import size
from gatepost_command import START

from .findings import Finding, Seen, note, ok, warning, wrong

NAME, DAMAGED = "hot store", "files of the hot store"


def answers(seen: Seen) -> Iterator[Finding]:
    """The hot store answers; without hot agents nobody misses it."""
    try:
        seen.hot_store = read_persistence()
    except (redis.RedisError, OSError) as error:
        text = first_line(error)
        if names := _hot_agents(seen):
            stopped = f"{text}; these agents stop: {_named(names)}"
            do = f"call `{START}`" if not seen.own_hot_store else "look at its server"
            yield wrong(NAME, stopped, f"Start it: {do} (GATEPOST_HOT_URL).")
        else:
            yield note(NAME, f"does not answer, and no agent is hot ({text})")
        return
    seen.has.add(NAME)
    one = seen.hot_store
    limit = f" of {size(one.limit_bytes)}" if one.limit_bytes else ""
    own = "own" if seen.own_hot_store else "embedded"
    yield ok(NAME, f"Valkey {one.version}, {own}, uses {size(one.used_bytes)}{limit}")


def keeps(seen: Seen) -> Iterator[Finding]:
    """The hot store has on its disk what it acknowledged, evicts nothing, and is not full."""
    if seen.hot_store is None:
        return
    agents = _hot_agents(seen)
    result = faults(seen.hot_store, may_lose_seconds=queries.may_lose_seconds(agents))
    for one in result:
        yield (wrong if one.refuses and agents else warning)(NAME, one.sentence, one.cure)
    chosen = [agent for agent in agents if agent.acknowledge == EVERYSEC]
    if chosen and seen.hot_store.appendfsync == EVERYSEC:
        yield note(NAME, f"{MAY_LOSE} These agents chose it: {_named(chosen)}.")
    if seen.valkey.get("run_id") == seen.hot_store.run_id:
        yield wrong(
            NAME,
            "is the server of REDIS_URL: when it is full the broker stops as well",
            "Start a second Valkey and name it in GATEPOST_HOT_URL.",
        )
    elif not result:
        yield ok(NAME, "each append is on the disk before its answer; nothing is evicted")


def damaged(_seen: Seen) -> Iterator[Finding]:
    """Damaged files of the embedded hot store are set aside; each case is named until they go."""
    for damage in damages(settings.PLACES.hot):
        value = f"{damage.at:%Y-%m-%d %H:%M:%S} UTC: {damage.sentence}"
        do = f"Delete {damage.folder} when nobody needs it."
        if damage.zeros:
            yield note(DAMAGED, value, do)
        else:
            yield warning(DAMAGED, value, f"Look at the disk and at threads of hot agents. {do}")


def _hot_agents(seen: Seen) -> list[AgentRow]:
    return queries.hot_agents() if "tables" in seen.has else []


def _named(agents: list[AgentRow]) -> str:
    return ", ".join(agent.agent for agent in agents)
