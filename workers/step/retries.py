"""What is tried again by itself, when, and how often: activities, effects, model calls.

    ctx.activity(look_up, goal, retry=Retry(attempts=8, first=2))

Between two attempts the thread sleeps (`wake_at` in its row) and holds no worker. Without a word of
the author only what says of itself that it passes is tried again: HTTP 408, 425, 429 and 5xx,
time-outs, broken connections, RetryLater. A `Retry` of the author's also takes in errors that say
nothing about themselves. Neither repeats mistakes of a program or refusals (HTTP 4xx).
"""

from __future__ import annotations

import random
import socket
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from checkpoints.errors import ContentAway, GatepostError

from ..authoring.errors import Asleep
from ..authoring.retry_policy import LONGEST_SECONDS, Retry, RetryLater

if TYPE_CHECKING:
    from checkpoints.records import NewActivity

    from .step import OpenStep

REASON_MAX = 200


class Passing(StrEnum):
    """The meaning of an error for another attempt."""

    NO = "no"  # a mistake or a refusal: another attempt ends alike
    REFUSED = "refused"  # nothing was done, later it may be
    OPEN = "open"  # whether it was done is not known
    UNSAID = "unsaid"


@dataclass(frozen=True, slots=True)
class Judged:
    """An error as a policy sees it: `message` follows the name of what was called.

    `after`: seconds that the other side asked for. `crowded`: it asks everybody to wait.
    """

    passing: Passing
    message: str
    after: float | None = None
    crowded: bool = False


# Mistakes of a program, anybody's. LookupError and ArithmeticError with all below them.
MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)
# Errors of common clients by the names of their classes: none of them is imported for this.
UNREACHED = {
    "ClientConnectorError",
    "ConnectError",
    "ConnectTimeout",
    "ConnectTimeoutError",
    "NewConnectionError",
    "PoolTimeout",
}
TIMED_OUT = {
    "APITimeoutError",
    "ReadTimeoutError",
    "Timeout",
    "TimeoutError",
    "TimeoutException",
    "TimeoutExpired",
}
BROKEN_OFF = {
    "APIConnectionError",
    "BadStatusLine",
    "ChunkedEncodingError",
    "ClientConnectionError",
    "ClientOSError",
    "ConnectionError",
    "IncompleteRead",
    "NetworkError",
    "RemoteProtocolError",
    "ServerDisconnectedError",
}
REFUSING = {425, 429, 503}
UNKNOWING = {408, 500, 502, 504, 520, 521, 522, 523, 524, 529}


def judge(error: Exception, now: Callable[[], float]) -> Judged:
    """Judge whether an error allows another attempt; `now` gives seconds since 1970."""
    if isinstance(error, RetryLater):
        text = " ".join(str(error).split()).rstrip(".")
        message = f"said: {text[:REASON_MAX]}"
        return Judged(Passing.REFUSED, message, _bounded(error.seconds), crowded=True)
    status, headers = _answer(error)
    if status is not None:
        message = f"answered {status}"
        if status in REFUSING:
            everybody = status != 425 and not getattr(error, "of_one_place", False)
            return Judged(Passing.REFUSED, message, retry_after(headers, now), crowded=everybody)
        if status in UNKNOWING:
            return Judged(Passing.OPEN, message, retry_after(headers, now))
        if 400 <= status < 600:
            return Judged(Passing.NO, message)
    reason = getattr(error, "reason", None)  # urllib.error.URLError
    if isinstance(error, OSError) and isinstance(reason, Exception) and reason is not error:
        return judge(reason, now)
    names = {c.__name__ for c in type(error).__mro__}
    if isinstance(error, ConnectionRefusedError | socket.gaierror) or names & UNREACHED:
        return Judged(Passing.REFUSED, "could not be reached")
    if names & TIMED_OUT:
        return Judged(Passing.OPEN, "timed out")
    if names & BROKEN_OFF:
        return Judged(Passing.OPEN, "broke off the connection")
    failed = f"failed with {type(error).__name__}"
    if isinstance(error, (GatepostError, *MISTAKES)) and not isinstance(error, ContentAway):
        return Judged(Passing.NO, failed)
    return Judged(Passing.UNSAID, failed)


def outcome_is_open(error: Exception) -> bool:
    """Answer True if the failed call may have happened: a time-out, a cut-off answer."""
    return judge(error, lambda: 0.0).passing is Passing.OPEN


def _answer(error: Exception) -> tuple[int | None, Any]:
    """(HTTP status, headers) that an error carries, in the forms of the common clients."""
    response = getattr(error, "response", None)
    headers = getattr(response, "headers", None) or getattr(error, "headers", None)
    results = [getattr(response, "status_code", None), getattr(response, "status", None)]
    results.append(getattr(error, "status_code", None))
    if headers is not None:  # `code` and `status` alone may be anything
        results += [getattr(error, "code", None), getattr(error, "status", None)]
    for status in results:
        if isinstance(status, int) and 100 <= status < 600:
            return int(status), headers
    return None, headers


def retry_after(headers: Any, now: Callable[[], float]) -> float | None:
    """Seconds that the headers of an answer ask to wait: a number of them, or an HTTP date.

    A date is compared with the answer's own Date, else with `now`.
    """
    in_ms = _header(headers, "Retry-After-Ms")
    if (result := _number(in_ms)) is not None:
        return _bounded(result / 1000)
    text = _header(headers, "Retry-After")
    if (result := _number(text)) is not None:
        return _bounded(result)
    at = _date(text)
    if at is None:
        return None
    message = _date(_header(headers, "Date"))
    return _bounded(at - (now() if message is None else message))


def _header(headers: Any, name: str) -> str:
    get = getattr(headers, "get", None)
    if get is None:
        return ""
    result = get(name) or get(name.lower())
    return str(result).strip() if isinstance(result, str | int | float) else ""


def _number(text: str) -> float | None:
    try:
        result = float(text)
    except ValueError:
        return None
    return result if result >= 0 else None  # NaN is not either


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _bounded(seconds: float) -> float:
    return min(LONGEST_SECONDS, max(0.0, float(seconds)))


def allowed(policy: Retry, error: Exception, judged: Judged, *, repeatable: bool) -> bool:
    """Answer True if `policy` tries again after this error; `repeatable`: twice does no harm."""
    if isinstance(error, policy.never) or judged.passing is Passing.NO:
        return False
    if judged.passing is Passing.OPEN:
        return repeatable
    return policy.plain or judged.passing is not Passing.UNSAID


def sleep_before_retry(
    step: OpenStep,
    policy: Retry | None,
    name: str,
    activity: NewActivity,
    error: Exception,
    *,
    repeatable: bool = True,
) -> Asleep | None:
    """The sleep before the next attempt, or None when this was the last one.

    A service that asks everybody to wait is noted for all threads of the workspace.
    """
    if policy is None:
        return None
    judged = judge(error, step.ledger.clock)
    if not allowed(policy, error, judged, repeatable=repeatable):
        return None
    # The row counts attempts of all time; the budget begins anew with each click on Retry.
    number = step.ledger.failures(step.work, activity) + 1
    if number >= policy.attempts:
        if policy.attempts > 1:
            error.add_note(f"{_GAVE_UP}{number} attempts")
        return None
    longest = policy.longest_wait(number)
    chance = random.random() * policy.jitter  # noqa: S311
    if judged.after is not None:
        least, seconds = judged.after, judged.after + longest * chance
    elif judged.crowded:
        least, seconds = longest / 2, longest / 2 * (1 + chance)
    else:
        least, seconds = 0.0, longest * (1 - chance)
    if judged.crowded and least:
        step.ledger.hold_off(step.work, name, seconds=least, text=judged.message)
    message = f"{name} {judged.message}; attempt {number + 1} of {policy.attempts}"
    return Asleep(seconds, message)


def wait_with_others(step: OpenStep, policy: Retry | None, name: str) -> None:
    """Raise Asleep while a service has asked everybody to wait; calls and counts nothing."""
    held = None if policy is None else step.ledger.held_off(step.work, name)
    if policy is not None and held is not None:
        seconds, message = held
        spread = max(policy.first, 0.1 * seconds) * policy.jitter
        seconds += spread * random.random()  # noqa: S311 - not all at the same moment when the time has come
        raise Asleep(seconds, f"{name} {message}; waits with all others")


_GAVE_UP = "Gatepost gave up after "


def gave_up(error: BaseException) -> str:
    """The number of attempts that failed, such as " (after 5 attempts)"; "" for a single one."""
    for note in reversed(getattr(error, "__notes__", ())):
        if note.startswith(_GAVE_UP):
            return f" (after {note.removeprefix(_GAVE_UP)})"
    return ""
