"""Filters of requests: in the inbox, the call and the command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from approvals.inbox.boxes import BOXES
from approvals.states import STATUSES
from checkpoints.limits import AGENT_MAX
from dashboard.fields import filters
from dashboard.fields.filters import CALL, FLAG, ID, PAGE, Filter
from dashboard.fields.parameters import TEXT_MAX, one_of

# Boxes as addresses called them before.
_OLD_NAMES: Final = {"decided": "done"}
_BOX: Final = filters.one({box: box for box in BOXES})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFilter(Filter):
    """A filter of requests; of a box its condition is a field of `approvals.inbox.boxes.Wanted`.

    `phrase` continues “No request here”, {} is the value. `boxed`: only the boxes of the inbox are
    narrowed by it, not the requests of a status.
    """

    phrase: str = ""
    boxed: bool = True


REQUESTS: Final = (
    RequestFilter(
        name="status",
        kind=filters.one({word: word for word in (*STATUSES, "decided", "all")}),
        help="pending unless given",
        endpoints=(CALL,),
        boxed=False,
    ),
    RequestFilter(
        name="box",
        kind=replace(
            _BOX,
            page=one_of(BOXES, also=_OLD_NAMES),
            value=lambda word: _BOX.value(_OLD_NAMES.get(word, word)),
        ),
        help="The box of the inbox, in its order; without it requests by their age.",
    ),
    RequestFilter(
        name="mine",
        kind=FLAG,
        help="Only open ones that wait for the caller.",
        endpoints=(CALL,),
        boxed=False,
    ),
    RequestFilter(
        name="thread",
        kind=ID,
        help="Only those of this thread; goes with `status` only.",
        endpoints=(CALL,),
        boxed=False,
    ),
    RequestFilter(
        name="agent",
        kind=filters.text(AGENT_MAX),
        help="Only those of this agent.",
        label="Agent",
        unset="All agents",
        phrase="comes from agent {}",
    ),
    RequestFilter(
        name="framework",
        kind=filters.text(AGENT_MAX),
        help="What the agents are written in, as they say; `Gatepost`: those of this installation.",
        label="Framework",
        unset="All frameworks",
        phrase="comes from an agent in {}",
    ),
    RequestFilter(
        name="q",
        kind=replace(filters.text(TEXT_MAX), in_address=TEXT_MAX),
        help="Words in the title, the thread or the tool.",
        phrase="has “{}” in its title, thread or tool",
    ),
    RequestFilter(
        name="alike",
        kind=ID,
        help="Only those that equal this request.",
        endpoints=(PAGE,),
        phrase="still matches that one",
    ),
)
