"""Rate limits of an address, account or token; counted for all web processes.

Valkey counts. While it is away each process counts for itself: limits are looser then, and nobody
is kept out. A limit of 0 is none.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest

from dashboard.errors import ActionError
from dashboard.wire.hints import attempt

from .client_address import client_address, limited_as

PREFIX: Final = "gatepost:rate:"
MINUTE: Final = 60
QUARTER: Final = 15 * MINUTE
LOCAL_MAX: Final = 20_000


class TooMany(ActionError):
    """One sender asks too often; facts: nothing, `retry_after` says how long to wait."""

    status, code, title = 429, "too-many-requests", "Too many requests"

    def __init__(self, detail: str, retry_after: int) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class LimitState:
    """State of a limit after a call: uses allowed in a period, left, and seconds to its end.

    `name` says what is counted: address, token, login, person.
    """

    name: str
    most: int
    period: int
    left: int
    seconds: int


@dataclass(frozen=True, slots=True)
class Limit:
    """At most what the setting says, in each period of that length in seconds."""

    setting: str
    seconds: int
    message: str

    @property
    def most(self) -> int:
        """The number of uses in a period; 0 is as many as wanted."""
        return int(getattr(settings, self.setting))

    def spend(self, who: str) -> None:
        """Count one more; raises TooMany beyond the limit."""
        (state,) = count(Use(self, who))
        if state is not None and state.left < 0:
            raise TooMany(self.message, state.seconds)

    def look(self, who: str) -> None:
        """Raise TooMany where one more would be beyond the limit; counts nothing."""
        (state,) = count(Use(self, who, more=0))
        if state is not None and state.left <= 0:
            raise TooMany(self.message, state.seconds)

    def give_back(self, who: str) -> None:
        """Take back one count: it was no guess after all."""
        count(Use(self, who, more=-1))

    def key(self, who: str) -> str:
        """Names the count of somebody in the present period."""
        # A name may hold anything, and a key is no place for people's names.
        digest = hashlib.sha256(f"{self.setting}:{self.seconds}:{who}".encode()).hexdigest()[:32]
        return f"{PREFIX}{digest}:{int(time.time() // self.seconds)}"


@dataclass(frozen=True, slots=True)
class Use:
    """Further uses of a limit by somebody; 0 only looks. `name` is that of the answer."""

    limit: Limit
    who: str
    name: str = ""
    more: int = 1


def count(*uses: Use) -> list[LimitState | None]:
    """Count uses in one round trip, and say how each limit stands; None where there is none.

    Beyond the limit `left` is below 0.
    """
    due = [(use.limit.key(use.who), use) for use in uses if use.limit.most]

    def counts(valkey: Any) -> list[int]:
        with valkey.pipeline(transaction=False) as pipe:
            for key, use in due:
                pipe.incrby(key, use.more)
                pipe.expire(key, use.limit.seconds)
            return [int(value) for value in pipe.execute()[::2]]

    result = attempt(counts) if due else []
    if result is None:
        result = [_local.count(key, use.more) for key, use in due]
    states = {id(use): _state(use, value) for (_, use), value in zip(due, result, strict=True)}
    return [states.get(id(use)) for use in uses]


def _state(use: Use, counted: int) -> LimitState:
    most, seconds = use.limit.most, use.limit.seconds
    left = max(1, round(seconds - time.time() % seconds))
    return LimitState(use.name, most, seconds, most - counted, left)


class _Local:
    """Counts of this process alone, for as long as Valkey is away."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def count(self, key: str, more: int) -> int:
        with self._lock:
            if len(self._counts) >= LOCAL_MAX:
                self._counts.clear()
            self._counts[key] += more
            return self._counts[key]


_local: Final = _Local()

_SLOWER = "Slow down: this is more than {} may ask for in a minute."
API_ADDRESS: Final = Limit("GATEPOST_API_PER_ADDRESS", MINUTE, _SLOWER.format("one address"))
API_ACCOUNT: Final = Limit("GATEPOST_API_PER_ACCOUNT", MINUTE, _SLOWER.format("one token or login"))
API_PERSON: Final = Limit(
    "GATEPOST_API_PER_PERSON", MINUTE, _SLOWER.format("all tokens and logins of one person")
)
REPORTS_ADDRESS: Final = Limit(
    "GATEPOST_REPORTS_PER_ADDRESS", MINUTE, _SLOWER.format("agents at one address")
)
REPORTS_ACCOUNT: Final = Limit(
    "GATEPOST_REPORTS_PER_ACCOUNT", MINUTE, _SLOWER.format("agents with one token")
)
HOOKS: Final = Limit("GATEPOST_HOOK_PER_MINUTE", MINUTE, _SLOWER.format("one hook"))
STRANGERS: Final = Limit("GATEPOST_UNKNOWN_PER_ADDRESS", MINUTE, "Too many anonymous calls.")
VIOLATIONS: Final = Limit(
    "GATEPOST_VIOLATIONS_PER_ADDRESS", MINUTE, "Too many reports of one address."
)
_WAIT = (
    "Too many attempts to sign in. Wait, use a browser that you signed in with before, or a "
    "one-time link."
)
LOGIN_ADDRESS: Final = Limit("GATEPOST_LOGINS_PER_ADDRESS", QUARTER, _WAIT)
LOGIN_ACCOUNT: Final = Limit("GATEPOST_LOGINS_PER_ACCOUNT", QUARTER, _WAIT)
# Beyond those: `identity.lockout` says for what.
LOGIN_PAIR: Final = Limit("GATEPOST_LOGINS_PER_PAIR", QUARTER, _WAIT)
LOGIN_SLOWED: Final = Limit("GATEPOST_LOGINS_SLOWED", MINUTE, _WAIT)
LOGIN_ADDRESS_SLOWED: Final = Limit("GATEPOST_LOGINS_PER_ADDRESS", MINUTE, _WAIT)
LOGIN_KNOWN: Final = Limit("GATEPOST_LOGINS_PER_BROWSER", QUARTER, _WAIT)
LIMITS: Final = (
    *(API_ADDRESS, API_ACCOUNT, API_PERSON, REPORTS_ADDRESS, REPORTS_ACCOUNT),
    *(HOOKS, STRANGERS, VIOLATIONS, LOGIN_ADDRESS, LOGIN_ACCOUNT),
    *(LOGIN_PAIR, LOGIN_SLOWED, LOGIN_KNOWN),
)


def address_of(request: HttpRequest) -> str:
    """The key of limits per address for this request."""
    return limited_as(client_address(request))
