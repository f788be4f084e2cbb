"""What a caller of the client meets: faults of the connection, verdicts, and reasons to stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WAITING_EXIT_CODE = 75  # EX_TEMPFAIL of sysexits.h: start it again later


class ClientError(Exception):
    """Everything that this package raises, except reasons to stop."""


class NotConfigured(ClientError):
    """The address or the token is missing, or a decorator is used where it cannot work."""


class Unreachable(ClientError):
    """Gatepost did not answer, however often it was tried."""


class Ended(ClientError):
    """The thread has ended otherwise than by success; `status` says how."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason or f"The thread is {status}.")
        self.status = status


class Refused(ClientError):
    """Gatepost answered with a problem: `status`, `code`, `detail`, and all further members."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = dict(problem)
        self.code = str(problem.get("type", "")).rpartition(":")[2]
        self.detail = str(problem.get("detail") or problem.get("title") or f"HTTP {status}")
        super().__init__(f"{self.detail} ({self.code or status})")


class InvalidValue(ClientError):
    """A value that JSON cannot hold; the message names its path."""


class Rejected(ClientError):
    """A reviewer said no. Catch it to go another way; `what_next` is what they want of you."""

    def __init__(self, comment: str, by: str = "", what_next: str = "go_on") -> None:
        self.comment = comment
        self.by = by
        self.what_next = what_next
        super().__init__(f"Rejected{f' by {by}' if by else ''}: {comment or 'no reason given'}")


class Expired(ClientError):
    """Nobody decided before the deadline. Catch it to go another way."""


class Stop(BaseException):
    """Ends the work of this process; a BaseException, so that `except Exception` lets it by."""


class LeaseLost(Stop):
    """Another process has the thread now. What this one does is no longer recorded."""


class Cancelled(Stop):
    """A person cancelled the thread."""


class StartOver(Stop):
    """The thread's past changed while it waited; the agent begins again and reads the record."""


class Suspended(Stop):
    """`Waiting` inside of a framework, whose event loop a SystemExit would break."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Waiting(Stop, SystemExit):
    """The thread waits and this process may leave; start it again later. Exit code 75."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        SystemExit.__init__(self, WAITING_EXIT_CODE)

    def __str__(self) -> str:
        return self.reason
