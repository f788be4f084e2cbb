"""Read the configuration of the hot store: does it keep what it acknowledges; name each cure.

An agent with `durability="hot"` is refused while there is a fault that refuses it, since its steps
stand in the hot store alone until they are drained. Doctor, the system check and /metrics read the
same.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from django.conf import settings

if TYPE_CHECKING:
    import redis

TIMEOUT: Final = 2.0
# Of `maxmemory`: from here on people are told, while there is still time to act.
ALARM_SHARE: Final = 0.8


@dataclass(frozen=True, slots=True)
class Persistence:
    """Settings and state of the server, as it reports them.

    `appendfsync` is empty where its user may not read the configuration; `limit_bytes` is 0 for
    none; `run_id` names the server until its next start.
    """

    appendonly: bool
    appendfsync: str
    policy: str
    used_bytes: int
    limit_bytes: int
    is_loading: bool
    writes_fail: bool
    run_id: str
    version: str

    @property
    def share(self) -> float:
        """Used part of its limit; 0 without a limit."""
        return self.used_bytes / self.limit_bytes if self.limit_bytes else 0.0


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the hot store, its cure, and whether hot agents are refused for it."""

    sentence: str
    cure: str
    refuses: bool


def read_persistence(*, timeout: float = TIMEOUT) -> Persistence:
    """Ask the server at `settings.HOT_URL`; raises redis.RedisError or OSError if it is away."""
    # Here: who only imports the store needs no driver.
    import redis

    with redis.Redis.from_url(
        settings.HOT_URL, protocol=2, socket_timeout=timeout, socket_connect_timeout=timeout
    ) as client:
        info: Any = client.info()
        return Persistence(
            appendonly=bool(info.get("aof_enabled")),
            appendfsync=_appendfsync(client),
            policy=str(info.get("maxmemory_policy", "noeviction")),
            used_bytes=int(info.get("used_memory", 0)),
            limit_bytes=int(info.get("maxmemory", 0)),
            is_loading=bool(info.get("loading")),
            writes_fail=info.get("aof_last_write_status", "ok") != "ok",
            run_id=str(info.get("run_id", "")),
            version=str(info.get("valkey_version") or info.get("redis_version") or "?"),
        )


def _appendfsync(client: redis.Redis) -> str:
    import redis

    try:
        answer: Any = client.config_get("appendfsync")
    except redis.ResponseError:
        return ""
    return str(answer.get("appendfsync", ""))


def faults(persistence: Persistence, *, may_lose_seconds: bool = False) -> list[Fault]:
    """The faults of a server, worst first.

    `may_lose_seconds`: the agent chose to lose the last seconds in a crash, so `appendfsync
    everysec` will do.
    """
    return [
        *_of_its_file(persistence, may_lose_seconds=may_lose_seconds),
        *_of_its_memory(persistence),
    ]


def _of_its_file(one: Persistence, *, may_lose_seconds: bool) -> list[Fault]:
    if not one.appendonly:
        return [
            Fault(
                "The hot store keeps nothing on its disk (appendonly is off): a restart loses "
                "every step that is only buffered.",
                _config("appendonly yes"),
                refuses=True,
            )
        ]
    results = []
    if one.writes_fail:
        results.append(
            Fault(
                "The hot store can't write to its disk.",
                "Make room on its disk, or look at its log.",
                refuses=True,
            )
        )
    if not one.appendfsync:
        results.append(
            Fault(
                "The hot store doesn't say when it flushes (CONFIG GET appendfsync is refused).",
                "Allow it to the user of GATEPOST_HOT_URL: `ACL SETUSER NAME +config|get`.",
                refuses=True,
            )
        )
    elif one.appendfsync == "everysec":
        results.append(
            Fault(
                "The hot store flushes once a second (appendfsync everysec): a crash loses up to "
                "2 s of steps that were acknowledged.",
                _config("appendfsync always"),
                refuses=not may_lose_seconds,
            )
        )
    elif one.appendfsync != "always":
        results.append(
            Fault(
                f"The hot store never flushes by itself (appendfsync {one.appendfsync}): a crash "
                "of its machine loses steps that were acknowledged.",
                _config("appendfsync always"),
                refuses=True,
            )
        )
    return results


def _of_its_memory(one: Persistence) -> list[Fault]:
    results = []
    cure = _config("maxmemory-policy noeviction")
    if one.policy.startswith("allkeys"):
        results.append(
            Fault(
                f"The hot store evicts keys when it is full ({one.policy}): streams and fences "
                "vanish without an error.",
                cure,
                refuses=True,
            )
        )
    elif one.policy != "noeviction":
        results.append(
            Fault(
                f"The hot store evicts keys that end by themselves when it is full ({one.policy}).",
                cure,
                refuses=False,
            )
        )
    if not one.limit_bytes:
        results.append(
            Fault(
                "The hot store has no limit (maxmemory 0): it may take all memory of its machine.",
                _config("maxmemory 512mb"),
                refuses=False,
            )
        )
    return [*results, *filling(one)]


def filling(one: Persistence) -> list[Fault]:
    """The fault of a store that uses nearly all of its memory, if it does."""
    if one.share < ALARM_SHARE:
        return []
    return [
        Fault(
            f"The hot store uses {one.share:.0%} of its memory ({one.used_bytes >> 20} of "
            f"{one.limit_bytes >> 20} MiB): full, it refuses appends and hot agents stop.",
            "Look why streams aren't drained (workers, PostgreSQL), or raise its limit: "
            + _config(f"maxmemory {one.limit_bytes >> 19}mb"),
            refuses=False,
        )
    ]


def refusal(*, may_lose_seconds: bool = False) -> str:
    """The reason why no agent with `durability="hot"` can work here, and its cure; or nothing."""
    import redis

    try:
        result = faults(read_persistence(), may_lose_seconds=may_lose_seconds)
    except (redis.RedisError, OSError) as error:
        return (
            f"The hot store can't be checked, as it doesn't answer ({type(error).__name__}): start "
            "the Valkey that GATEPOST_HOT_URL names."
        )
    return next((f"{one.sentence} {one.cure}" for one in result if one.refuses), "")


def _config(change: str) -> str:
    """The command that changes a setting of the server, now and in its file; no password."""
    address = urlsplit(settings.HOT_URL)
    if address.scheme == "unix":
        where = f"-s {shlex.quote(address.path)}"
    else:
        where = f"-h {address.hostname} -p {address.port or 6379}"
    where += " --tls" if address.scheme == "rediss" else ""
    return f"Call `valkey-cli {where} CONFIG SET {change}`, and CONFIG REWRITE where it has a file."
