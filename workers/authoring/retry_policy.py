"""How often a call is tried again, and how long to wait in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checkpoints.errors import GatepostError

from .checks import shown
from .errors import GraphError

LONGEST_SECONDS = 86_400.0  # a server may ask for more than a thread should wait unseen


class RetryLater(GatepostError):
    """Raised by an author's function: nothing was done, call it again in `seconds`."""

    def __init__(self, seconds: float, message: str = "") -> None:
        super().__init__(message or f"Call again in {seconds:g} s.")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Retry:
    """A policy for retries: the number of calls, and the seconds to wait in between.

    `attempts` counts all calls (1: never again); a person's click on Retry begins to count anew.
    Wait number n is at most `first * factor ** (n - 1)` seconds and never more than `most`;
    `jitter` is the share of it that chance decides (1: between nothing and all of it). What a
    server asks for (Retry-After) is waited in full, up to a day. Errors in `never` are not retried.
    `plain`: errors that say nothing about themselves are tried again.
    """

    attempts: int = 5
    first: float = 1.0
    factor: float = 2.0
    most: float = 60.0
    jitter: float = 1.0
    never: tuple[type[Exception], ...] = ()
    plain: bool = True

    def __post_init__(self) -> None:
        """Raise GraphError for what is no policy."""
        fits = (
            type(self.attempts) is int
            and 1 <= self.attempts <= 1000
            and 0 <= self.first <= self.most <= LONGEST_SECONDS
            and 1 <= self.factor <= 100
            and 0 <= self.jitter <= 1
            and isinstance(self.never, tuple)
            and all(isinstance(e, type) and issubclass(e, Exception) for e in self.never)
        )
        if not fits:
            raise GraphError(
                f"{self} is not a policy: attempts from 1 to 1000, 0 <= first <= most <= a day in "
                "seconds, factor from 1 to 100, jitter from 0 to 1, never=(Error, ...)."
            )

    def longest_wait(self, number: int) -> float:
        """Seconds before attempt `number + 1`, as long as chance may make them."""
        grown: float = self.first * self.factor ** min(number - 1, 100)
        return min(self.most, grown)


DEFAULT = Retry(plain=False)


NEVER = Retry(attempts=1)


def policy_of(value: Any, *others: Retry | None) -> Retry:
    """The first policy that is there; the default when none is. GraphError for another thing."""
    for policy in (value, *others):
        if isinstance(policy, Retry):
            return policy
        if policy is not None:
            raise GraphError(
                f"retry={shown(policy)} is not a policy: write retry=Retry(attempts=3, ...)."
            )
    return DEFAULT
