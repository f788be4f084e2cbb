"""The copy of an ephemeral thread's state in Valkey, and the messages that its next turn takes.

A copy is one document, and one list for each channel that only grows: a turn writes what it added.
The document says how long each list is for it, so the state before a turn stays readable until the
next one has written. All of it ends by itself `ttl` seconds after it was last used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from ..durabilities import FORGOTTEN
from ..errors import ContentAway, NotAllowedNow
from ..state import deltas

if TYPE_CHECKING:
    from redis import Redis

AWAY: Final = "The memory of ephemeral threads (Valkey) does not answer; try again in a moment."
PREFIX: Final = "gatepost:ephemeral"
# Threads with messages that no turn has taken, by the time of the last one, for the sweep.
WAITING: Final = f"{PREFIX}:waiting"
AT_ONCE: Final = 200
# As long as the buffer of a conversation stays that all of it was taken from.
UTTERANCE_SECONDS: Final = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Point:
    """A state as the document holds it: plain channels, the length of each list, what is next."""

    values: Mapping[str, Any]
    lengths: Mapping[str, int]
    step: int
    next_nodes: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """The point as JSON."""
        return {
            "values": dict(self.values),
            "lengths": dict(self.lengths),
            "step": self.step,
            "next": list(self.next_nodes),
        }

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Point:
        """The point of its JSON."""
        return cls(value["values"], value["lengths"], value["step"], value["next"])


@dataclass(frozen=True, slots=True)
class Copy:
    """The copy of a thread: where it stands, and where it stood before the turn that wrote it.

    `fence` is the number of that turn's lease. Where it sleeps before a call is tried again,
    `failures` are the attempts so far and `senders` those whose messages it took. `state` is of
    `now`, with its lists.
    """

    now: Point
    before: Point | None
    fence: int
    schema_version: int
    config: Mapping[str, Any]
    failures: int = 0
    senders: Sequence[str] = ()
    state: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0  # until it ends by itself

    @property
    def began(self) -> Point:
        """The state before the turn that is under way, or before the next one."""
        return self.before if self.now.next_nodes and self.before else self.now

    def to_json(self) -> dict[str, Any]:
        """The document without the lists."""
        return {
            "now": self.now.to_json(),
            "before": None if self.before is None else self.before.to_json(),
            "fence": self.fence,
            "schema_version": self.schema_version,
            "config": dict(self.config),
            "failures": self.failures,
            "senders": list(self.senders),
        }


@dataclass(frozen=True, slots=True)
class Message:
    """A message that no turn has taken yet."""

    message: Any
    actor: str
    at: float


def _key(thread: UUID, *parts: str) -> str:
    return ":".join((PREFIX, str(thread), *parts))


@contextmanager
def _valkey() -> Iterator[Redis]:
    """The client of this process; raises ContentAway where the server does not answer."""
    from redis.exceptions import RedisError  # here: who only imports the store needs no client

    client: Callable[[], Redis] = import_string(settings.VALKEY_CLIENT)
    try:
        yield client()
    except (RedisError, OSError) as error:
        raise ContentAway(AWAY) from error


def _seconds(time: Any) -> float:
    """Seconds since 1970 of the server's TIME: hosts of web processes have clocks of their own."""
    return int(time[0]) + int(time[1]) / 1e6


def _encoded(value: Any) -> bytes:
    return deltas.canonical(value)


def _decoded(raw: Any) -> Any:
    return deltas.decode(raw.decode() if isinstance(raw, bytes) else str(raw))


def save(thread: UUID, copy: Copy, *, added: Mapping[str, Sequence[Any]], ttl: int) -> None:
    """Write a copy; `added` are the items at the end of each list of `copy.now`."""
    with _valkey() as valkey, valkey.pipeline(transaction=True) as pipe:
        pipe.set(_key(thread), _encoded(copy.to_json()), ex=ttl)
        for channel, length in copy.now.lengths.items():
            key, items = _key(thread, "list", channel), added.get(channel, ())
            if len(items) == length:
                pipe.delete(key)
            else:
                pipe.ltrim(key, 0, length - len(items) - 1)
            if items:
                pipe.rpush(key, *map(_encoded, items))
            pipe.expire(key, ttl)
        pipe.execute()


def load(thread: UUID, *, ttl: int | None = None) -> Copy | None:
    """The copy of a thread, used for `ttl` seconds more; None once it is gone."""
    with _valkey() as valkey:
        with valkey.pipeline(transaction=True) as pipe:
            pipe.get(_key(thread)) if ttl is None else pipe.getex(_key(thread), ex=ttl)
            pipe.pttl(_key(thread))
            raw, left = pipe.execute()
        if raw is None:
            return None
        value = _decoded(raw)
        before = value["before"]
        now = Point.of(value["now"])
        state = dict(now.values)
        with valkey.pipeline(transaction=True) as pipe:
            for channel, length in now.lengths.items():
                key = _key(thread, "list", channel)
                pipe.lrange(key, 0, length - 1) if length else pipe.echo("")
                if ttl is not None:
                    pipe.expire(key, ttl)
            answers = pipe.execute() if now.lengths else []
    lists = answers if ttl is None else answers[::2]
    for (channel, length), items in zip(now.lengths.items(), lists, strict=True):
        state[channel] = [_decoded(item) for item in items] if length else []
        if len(state[channel]) != length:
            return None
    return Copy(
        now,
        None if before is None else Point.of(before),
        value["fence"],
        value["schema_version"],
        value["config"],
        value.get("failures", 0),
        value.get("senders", ()),
        state,
        max(0.0, int(left) / 1000),
    )


def put_back(thread: UUID, *, fence: int, ttl: int) -> None:
    """Let the state be again what it was before a turn that failed.

    The turn wrote to it under the lease `fence`, or was paused in its middle under an earlier one.
    """
    copy = load(thread, ttl=ttl)
    if copy is None or copy.before is None:
        return
    if copy.fence != fence and not copy.now.next_nodes:
        return
    former = replace(copy, now=copy.before, before=None, failures=0, senders=())
    with _valkey() as valkey:
        valkey.set(_key(thread), _encoded(former.to_json()), ex=ttl)


def forget(thread: UUID) -> None:
    """Drop the copy of a thread and what waits for it."""
    with _valkey() as valkey:
        keys = [_key(thread), _key(thread, "messages"), _key(thread, "utterance")]
        raw = valkey.get(_key(thread))
        if raw is not None:
            keys += [_key(thread, "list", name) for name in _decoded(raw)["now"]["lengths"]]
        valkey.delete(*keys)


def send(
    thread: UUID, *, queue: str, message: Any, actor: str, ttl: int, utterance: int = 0
) -> None:
    """Let the next turn of a thread have a message; raises NotAllowedNow once its state is gone.

    With the number of an `utterance` that number is noted in the same transaction.
    """
    with _valkey() as valkey:
        with valkey.pipeline(transaction=True) as pipe:
            pipe.exists(_key(thread))
            pipe.time()
            is_there, at = pipe.execute()
        if not is_there:
            raise NotAllowedNow(FORGOTTEN)
        value = {"message": message, "actor": actor, "at": _seconds(at)}
        with valkey.pipeline(transaction=True) as pipe:
            pipe.rpush(_key(thread, "messages"), _encoded(value))
            pipe.expire(_key(thread, "messages"), ttl)
            pipe.zadd(WAITING, {f"{thread} {queue}": _seconds(at)})
            if utterance:
                pipe.set(_key(thread, "utterance"), utterance, ex=UTTERANCE_SECONDS)
            pipe.execute()


def last_utterance(thread: UUID) -> int:
    """Number of the last utterance that was sent to a thread as a message."""
    with _valkey() as valkey:
        return int(valkey.get(_key(thread, "utterance")) or 0)


def messages(thread: UUID) -> list[Message]:
    """Messages that no turn has taken, oldest first."""
    with _valkey() as valkey:
        return [Message(**_decoded(raw)) for raw in valkey.lrange(_key(thread, "messages"), 0, -1)]


def count_messages(thread: UUID) -> int:
    """Count the messages that no turn has taken."""
    with _valkey() as valkey:
        return int(valkey.llen(_key(thread, "messages")))


def take(thread: UUID, number: int, *, queue: str) -> None:
    """Drop the oldest messages: the turn that has the lease has them now."""
    member, key = f"{thread} {queue}", _key(thread, "messages")
    with _valkey() as valkey:
        with valkey.pipeline(transaction=True) as pipe:
            pipe.ltrim(key, number, -1)
            pipe.zrem(WAITING, member)
            # Read after: one that came in between has written its own mark before.
            pipe.llen(key)
            pipe.time()
            *_, left, at = pipe.execute()
        if left:
            valkey.zadd(WAITING, {member: _seconds(at)})


def waiting(*, older_than_seconds: float) -> list[tuple[UUID, str]]:
    """(thread, queue) whose messages no turn has taken for so long; the sweep rings for them."""
    with _valkey() as valkey:
        until = _seconds(valkey.time()) - older_than_seconds
        members: Any = valkey.zrangebyscore(WAITING, "-inf", until, start=0, num=AT_ONCE)
        results = []
        for raw in members:
            text = raw.decode() if isinstance(raw, bytes) else str(raw)
            thread, _, queue = text.partition(" ")
            if valkey.exists(_key(UUID(thread), "messages")):
                results.append((UUID(thread), queue))
            else:
                valkey.zrem(WAITING, raw)
        return results
