"""The words of notifications: kinds of news, limits; and what is refused."""

from __future__ import annotations

from typing import Final
from uuid import UUID

NEWS: Final = (
    "approval.requested",
    "approval.turn",
    "approval.decided",
    "approval.expired",
    "approval.escalated",
    "approval.reminder",
    "approval.withdrawn",
    "budget.reached",
    "record.damaged",
    "thread.succeeded",
    "thread.failed",
    "thread.cancelled",
    "thread.attention",
    "thread.paused",
    "thread.stuck",
    "thread.work_waiting",
    "workers.wanted",
)
# What only calls for a decision; of no use once there is one.
CALLS: Final = frozenset(
    {"approval.requested", "approval.turn", "approval.escalated", "approval.reminder"}
)
# What goes to auditors and admins: they look after the record.
ALARMS: Final = frozenset(
    {
        "record.damaged",
        "anchors.late",
        "hot_store.filling",
        "hot_store.late",
        "hot_store.drained",
        "steps.lost",
        "workers.wanted",
    }
)
# News that goes to everyone who wants other news: nobody has to choose it.
GOES_WITH: Final = dict.fromkeys(ALARMS - set(NEWS), "record.damaged")
# What was spent; it goes to admins, who set budgets, and auditors.
BUDGETS: Final = frozenset({"budget.reached"})
# Changes of somebody's own access; it goes to that person, whatever endpoints choose.
ACCESS: Final = "access.changed"
# Outcomes of threads; written by the database with the change of its status.
THREADS: Final = frozenset(kind for kind in NEWS if kind.startswith("thread."))
# What is no trouble by itself: each program says whether it wants to hear of it.
USUAL_COURSE: Final = ("thread.succeeded", "thread.cancelled", "thread.paused", "workers.wanted")
CALLED: Final = tuple(
    kind for kind in NEWS if kind in CALLS | ALARMS | BUDGETS and kind not in USUAL_COURSE
)
# A message that an admin asks for, to see whether an endpoint works.
TEST: Final = "endpoint.test"
NAME_MAX, PLACES_MAX, ADDRESS_MAX, DIGEST_MAX = 100, 50, 2_000, 24 * 60
PERSON_MAX: Final = 150  # the name of a person or of a team


class Delivered(int):
    """The code of an answer that says it arrived; `gone` are devices that no longer exist."""

    gone: tuple[UUID, ...] = ()


class NotDelivered(Exception):
    """A message did not arrive; the text is ours and holds no address and no secret.

    `final`: trying again is of no use. `retry_after`: seconds that the other side asked for.
    `gone`: devices that no longer exist.
    """

    gone: tuple[UUID, ...] = ()

    def __init__(
        self, text: str, *, code: int | None = None, final: bool = False, retry_after: float = 0
    ) -> None:
        super().__init__(text)
        self.text, self.code, self.final, self.retry_after = text, code, final, retry_after
