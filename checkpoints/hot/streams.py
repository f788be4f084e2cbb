"""The streams of the hot store: one for each thread, with a fence, behind functions of Valkey.

What an append acknowledges stands in the hot store alone until it is drained into PostgreSQL. The
fence says who may append: the lease that opened the stream last. PostgreSQL decides who has a
lease. Opening it takes the number of the newest event of the thread's log, so a former holder that
wakes up late cannot open it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.conf import settings
from django.db import OperationalError

if TYPE_CHECKING:
    import redis

THREADS: Final = "gatepost:hot:threads"
# Beyond this length appends are refused: the holder drains the stream itself.
ENTRIES_MAX: Final = 20_000
# Seconds to wait for one answer, and for a server that starts again.
TIMEOUT: Final = 1.0
PATIENCE: Final = 2.0
_FUNCTIONS: Final = Path(__file__).with_name("functions.lua")
# Of the functions, by the version of the file: an older worker's stay beside them.
_SUFFIX: Final = "_2"


class Fenced(Exception):
    """Another lease, or a person, has the thread's stream; PostgreSQL knows who."""


class Full(Exception):
    """The stream holds as many entries as it may; nothing was appended."""


class HotStoreAway(OperationalError):
    """The hot store does not answer, or refuses to write: an outage, as of the database."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a stream: its id, the hot store's milliseconds and a counter; its content."""

    id: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Lag:
    """The part of a stream that is not drained yet: entries, and the age of the oldest."""

    entries: int = 0
    seconds: float = 0.0


def open_stream(thread: UUID, *, token: UUID, seq: int) -> tuple[int, int]:
    """Let a lease append to the stream of a thread: (number of the last entry, entries in it).

    `seq` is the newest event of the thread that its holder knows. Raises Fenced, HotStoreAway.
    """
    number, entries = _call("open", thread, str(token), seq)
    return int(number), int(entries)


def close_stream(thread: UUID, *, seq: int) -> bool:
    """Let nobody append who knows no event after `seq`; False where the thread has no fence."""
    return bool(_call("close", thread, seq))


def has_fence(thread: UUID) -> bool:
    """Answer True if the hot store knows the thread: some lease has opened its stream."""
    return bool(answer(lambda client: client.exists(keys_of(thread)[0])))


def append(thread: UUID, *, token: UUID, after: int, entries: Sequence[bytes]) -> int:
    """Append entries after the one of number `after`, all or none; the number of the last one.

    May be repeated with the same arguments. Raises Fenced, Full, HotStoreAway.
    """
    return int(_call("append", thread, str(token), after, ENTRIES_MAX, str(thread), *entries))


def entries_of(thread: UUID, *, at_most: int, after: str = "") -> list[Entry]:
    """The oldest entries of a thread's stream, those after the id `after`."""
    first = f"({after}" if after else "-"
    rows: Any = answer(lambda client: client.xrange(_stream(thread), min=first, count=at_most))
    return [Entry(id.decode(), fields[b"step"]) for id, fields in rows]


def newest_entries_of(thread: UUID, *, at_most: int) -> list[Entry]:
    """The newest entries of a thread's stream, newest first; does not wait for the store."""
    rows: Any = answer(lambda client: client.xrevrange(_stream(thread), count=at_most), 0)
    return [Entry(id.decode(), fields[b"step"]) for id, fields in rows]


def trim(thread: UUID, *, last: str) -> int:
    """Drop the entries up to `last`, which PostgreSQL has; how many are left."""
    milliseconds, _, counter = last.partition("-")
    return int(_call("trim", thread, f"{milliseconds}-{int(counter) + 1}", str(thread)))


def threads_with_entries(*, patience: float | None = None) -> list[UUID]:
    """The threads whose streams are not drained."""
    members: Any = answer(lambda client: client.smembers(THREADS), patience)
    return sorted(UUID(thread.decode()) for thread in members)


def lag_of(threads: Sequence[UUID], *, patience: float | None = None) -> dict[UUID, Lag]:
    """The lag of these threads; `patience` are the seconds to wait for a store that is away."""

    def read(client: redis.Redis) -> list[Any]:
        with client.pipeline(transaction=False) as pipeline:
            pipeline.time()
            for thread in threads:
                pipeline.xlen(_stream(thread))
                pipeline.xrange(_stream(thread), count=1)
            answers: list[Any] = pipeline.execute()
            return answers

    (seconds, micros), *answers = answer(read, patience)
    now = seconds + micros / 1e6
    result: dict[UUID, Lag] = {}
    for thread, entries, oldest in zip(threads, answers[::2], answers[1::2], strict=True):
        age = now - int(oldest[0][0].partition(b"-")[0]) / 1000 if oldest else 0.0
        result[thread] = Lag(int(entries), max(0.0, age))
    return result


def whole_lag() -> Lag:
    """All entries that are not drained, and the age of the oldest; does not wait for the store."""
    threads = threads_with_entries(patience=0)
    lags = lag_of(threads, patience=0).values() if threads else ()
    return Lag(sum(each.entries for each in lags), max((each.seconds for each in lags), default=0))


def keys_of(thread: UUID) -> tuple[str, str, str]:
    """The keys that each function takes: fence and stream of the thread, the set of threads."""
    return f"{_stream(thread)}:fence", _stream(thread), THREADS


def function_name(function: str) -> str:
    """The name of one of our functions in the hot store."""
    return f"gatepost_hot_{function}{_SUFFIX}"


def load_functions() -> None:
    """Load our functions, also after a server without its former data took over."""
    text = _FUNCTIONS.read_text()
    answer(lambda client: client.function_load(text, replace=True))


def lacks_functions(error: Exception) -> bool:
    """Answer True if the server refused a call because it does not know our functions yet."""
    return "function not found" in str(error).lower()


def refusal(error: Exception) -> Exception:
    """Make Fenced, Full or HotStoreAway of an error that the server answered."""
    text = str(error)
    if text.startswith(("FENCED", "GAP")):
        return Fenced(text)
    if text.startswith("FULL"):
        return Full(text)
    if "maxmemory" in text:
        return HotStoreAway(f"the hot store is full: {text}")
    return HotStoreAway(f"the hot store refuses: {text}")


def _stream(thread: UUID) -> str:
    return f"gatepost:hot:{thread}"


def _call(function: str, thread: UUID, *args: Any) -> Any:
    """Call a function of the hot store; it is loaded where the server does not know it yet."""
    from redis.exceptions import ResponseError

    keys = keys_of(thread)

    def call(client: redis.Redis) -> Any:
        return client.fcall(function_name(function), len(keys), *keys, *args)

    try:
        try:
            return answer(call)
        except ResponseError as error:
            if not lacks_functions(error):
                raise
            load_functions()
            return answer(call)
    except ResponseError as error:
        raise refusal(error) from error


def lost() -> tuple[type[Exception], ...]:
    """The errors of a connection that is lost, or of a server that does not answer in time."""
    from redis.exceptions import ConnectionError as Away
    from redis.exceptions import TimeoutError as Late

    return Away, Late, OSError


def answer[T](ask: Callable[[redis.Redis], T], patience: float | None = None) -> T:
    """The answer of the hot store, asked again where it was lost: each call may be repeated."""
    patience = PATIENCE if patience is None else patience
    until = time.monotonic() + patience
    while True:
        try:
            return ask(client())
        except lost() as error:
            if time.monotonic() > until:
                raise HotStoreAway(f"the hot store does not answer: {error}") from error
            time.sleep(0.05)


def client() -> redis.Redis:
    """The process's client of the hot store."""
    return _client(settings.HOT_URL)


@cache
def _client(url: str) -> redis.Redis:
    """The process's client of the hot store; after a fork its pool opens new connections."""
    # Here: who only imports the store needs no driver.
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return redis.Redis.from_url(
        url,
        protocol=2,
        socket_timeout=TIMEOUT,
        socket_connect_timeout=TIMEOUT,
        retry=Retry(NoBackoff(), 0),
    )
