"""The buffer of a conversation: utterances by number, until they stand in the thread's log.

What is acknowledged was flushed to disk. Numbers begin with 1 and have no gap. The buffer decides
about each number, so it matters not which process an utterance comes through, nor how often it is
sent. Recorded ones stay for a week, the newest of them, to be played back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from ..state import deltas
from .streams import HotStoreAway, answer, lacks_functions

if TYPE_CHECKING:
    import redis

THREADS: Final = "gatepost:voice:threads"
# Utterances of a conversation that may wait to be recorded, and those that stay once they are.
WAITING_MAX: Final = 1_000
STAY: Final = 500
_FUNCTIONS: Final = Path(__file__).with_name("utterances.lua")
_SUFFIX: Final = "_1"


class Refused(Exception):
    """An utterance that the buffer does not take; `number` is what its code speaks of."""

    def __init__(self, code: str, number: int) -> None:
        super().__init__(f"{code} {number}")
        self.code, self.number = code, number


class OutOfOrder(Refused):
    """Numbers are skipped; `number` is the one that is expected."""


class OtherWords(Refused):
    """Another utterance has its number; `number` is the one that is expected."""


class TooOld(Refused):
    """A number that was recorded long ago; `number` is the one that is expected."""


class TooMany(Refused):
    """As many as may wait to be recorded do wait: no further one is taken."""


class TooFast(Refused):
    """More in a minute than are taken; `number` are the seconds to wait."""


class NotOpen(Refused):
    """There is no such buffer: never opened, or forgotten by a hot store without its data."""


_CODES: Final = {
    "GAP": OutOfOrder,
    "OTHER": OtherWords,
    "OLD": TooOld,
    "FULL": TooMany,
    "FAST": TooFast,
    "CLOSED": NotOpen,
}


@dataclass(frozen=True, slots=True)
class Buffer:
    """The numbers of the last utterance and of the last recorded one, and the event of that."""

    number: int
    recorded: int
    seq: int


@dataclass(frozen=True, slots=True)
class Utterance:
    """Words of a person for a thread, as `target` takes them.

    `target` is input, signal or memory; `audio` refers to the recording where there is one.
    """

    number: int
    target: str
    value: Any
    actor: str
    audio: Mapping[str, Any] | None = None
    queue: str = ""
    ttl: int = 0

    def to_json(self) -> dict[str, Any]:
        """All but the number, which is the entry's own id."""
        plain = {"target": self.target, "value": self.value, "actor": self.actor}
        more = {"audio": self.audio, "queue": self.queue, "ttl": self.ttl}
        return plain | {name: value for name, value in more.items() if value}

    @property
    def digest(self) -> str:
        """Tells apart what was said; by whom and when it was sent again does not count."""
        plain = {"value": self.value, "audio": self.audio}
        return hashlib.sha256(deltas.canonical(plain)).hexdigest()


def open_buffer(thread: UUID, *, recorded: int, seq: int) -> Buffer:
    """The buffer of a conversation, begun behind what its thread has recorded if there is none."""
    return Buffer(*_call("open", thread, recorded, seq))


def find_buffer(thread: UUID) -> Buffer | None:
    """The buffer of a conversation, if there is one."""
    key = _key(thread)
    values: Any = answer(lambda client: client.hmget(key, "number", "recorded", "seq"))
    return None if values[0] is None else Buffer(*map(int, values))


def add(thread: UUID, utterance: Utterance, *, per_minute: int) -> bool:
    """Flush an utterance to disk; False for one that is there already, word for word.

    Raises a Refused, HotStoreAway.
    """
    content = deltas.canonical(utterance.to_json())
    args = (utterance.number, utterance.digest, content, WAITING_MAX, per_minute, str(thread))
    return bool(_call("add", thread, *args))


def utterances_from(thread: UUID, first: int, *, at_most: int) -> list[Utterance]:
    """Utterances of a buffer from a number on, in order."""
    key = f"{_key(thread)}:stream"
    rows: Any = answer(lambda client: client.xrange(key, min=f"{first}-0", count=at_most))
    return [
        Utterance(int(id.partition(b"-")[0]), **deltas.decode(fields[b"content"].decode()))
        for id, fields in rows
    ]


def note_recorded(thread: UUID, number: int, *, seq: int) -> int:
    """Note that utterances up to a number stand in the log; how many do not."""
    return int(_call("recorded", thread, number, seq, STAY, str(thread)))


def forget(thread: UUID) -> None:
    """Drop the buffer of a conversation, with all that was said."""
    key = _key(thread)

    def drop(client: redis.Redis) -> None:
        with client.pipeline(transaction=True) as pipe:
            pipe.delete(key, f"{key}:stream")
            pipe.srem(THREADS, str(thread))
            pipe.execute()

    answer(drop)


def threads_with_utterances(*, patience: float | None = None) -> list[UUID]:
    """Threads with utterances that are not recorded."""
    members: Any = answer(lambda client: client.smembers(THREADS), patience)
    return sorted(UUID(thread.decode()) for thread in members)


def _key(thread: UUID) -> str:
    return f"gatepost:voice:{thread}"


def _call(function: str, thread: UUID, *args: Any) -> Any:
    """Call a function of the hot store; they are loaded where the server does not know them yet."""
    from redis.exceptions import ResponseError

    keys = (_key(thread), f"{_key(thread)}:stream", THREADS)
    name = f"gatepost_voice_{function}{_SUFFIX}"

    def call(client: redis.Redis) -> Any:
        return client.fcall(name, len(keys), *keys, *args)

    try:
        try:
            return answer(call)
        except ResponseError as error:
            if not lacks_functions(error):
                raise
            text = _FUNCTIONS.read_text()
            answer(lambda client: client.function_load(text, replace=True))
            return answer(call)
    except ResponseError as error:
        code, _, number = str(error).partition(" ")
        if code in _CODES:
            raise _CODES[code](code, int(number) if number.isdigit() else 0) from error
        raise HotStoreAway(f"the hot store refuses: {error}") from error
