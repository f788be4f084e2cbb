"""What agent authors meet: refusals, verdicts, and the stops that leave a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from checkpoints.errors import GatepostError


class GraphError(GatepostError):
    """The graph is not sound."""


class StepFailed(GatepostError):
    """The step cannot continue; the message is what people read."""


class OutsideActivity(StepFailed):
    """Code of a node did what only an activity or effect may do."""


class Rejected(GatepostError):
    """The reviewer rejected the proposal; catch it to go another way.

    `comment` is why, `by` who said it, `what_next` what they want of it: go_on, stop or roll_back.
    """

    def __init__(self, comment: str, by: str, what_next: str = "go_on") -> None:
        super().__init__(f"Rejected by {by}: {comment}")
        self.comment = comment
        self.by = by
        self.what_next = what_next


class Expired(GatepostError):
    """Nobody decided in time; catch it to go another way, or name one with `on_expired`."""


class Refused(BaseException):
    """Leaves a node at the line that is refused; the guard turns it into an error."""


class Stop(BaseException):
    """Leaves a node without an error; a BaseException, so that `except Exception` lets it by."""


class GateReached(Stop):
    """The node needs decisions before it can continue.

    `proposals` are new, `waits` the titles of requests that are open already.
    """

    def __init__(self, *proposals: Any, waits: Sequence[str] = ()) -> None:
        super().__init__()
        self.proposals = proposals
        self.waits = tuple(waits)

    @classmethod
    def merged(cls, stops: Sequence[GateReached]) -> GateReached:
        """Return one stop for all that people are asked at the same time."""
        proposals = [proposal for stop in stops for proposal in stop.proposals]
        return cls(*proposals, waits=[title for stop in stops for title in stop.waits])


class ChildrenAwaited(Stop):
    """The node waits for `children`; `need` of them have to succeed, `seconds` are left.

    With `raises` it continues as soon as more have failed than may.
    """

    def __init__(
        self, children: Sequence[Any], need: int, raises: bool, seconds: float | None = None
    ) -> None:
        super().__init__()
        self.children = tuple(children)
        self.need = need
        self.raises = raises
        self.seconds = seconds


class SignalAwaited(Stop):
    """The node waits for a signal of this name that fits `schema`, until a time since 1970.

    `seconds` are left.
    """

    def __init__(
        self,
        name: str,
        schema: Mapping[str, Any] | None = None,
        *,
        until: float | None = None,
        seconds: float | None = None,
    ) -> None:
        super().__init__(name)
        self.name = name
        self.schema = schema
        self.until = until
        self.seconds = seconds


class Asleep(Stop):
    """The node sleeps; `seconds` are left. `reason` is what people read meanwhile."""

    def __init__(self, seconds: float, reason: str = "") -> None:
        super().__init__()
        self.seconds = seconds
        self.reason = reason


class Halted(Stop):
    """The thread pauses before it spends more; `reason` says which cap is reached."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class HandBack(Stop):
    """The worker stops; the thread continues elsewhere."""


class Parked(Stop):
    """The engine does not continue without a person; the message says why and what can be done."""

    def __init__(self, reason: str, waiting_on: dict[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.waiting_on = waiting_on


class ConversationGone(GatepostError):
    """The provider no longer holds the conversation; the function of a model may raise it too."""

    def __init__(self, conversation: str, reason: str = "") -> None:
        because = f": {reason}" if reason else ""
        super().__init__(
            f"The provider no longer holds the conversation {conversation!r}{because}. Call with "
            'if_gone="restart" to start another one with the recorded messages, or set its '
            'channel to "".'
        )
        self.conversation, self.reason = conversation, reason
