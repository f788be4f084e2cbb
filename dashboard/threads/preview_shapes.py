"""Shapes of what a change of a thread would do: effects and expected calls."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from dashboard.documents.state_shape import Shape
from dashboard.threads.plans.expected_calls import AGAIN, MAYBE, REUSED, Expected

CALLS_LISTED = 200


class ExpectedCall(Shape):
    """The expected fate of one recorded call; `tokens` and `cost` are those it took."""

    activity: UUID
    step: int
    node: str
    tool: str
    kind: str
    fate: Literal["reused", "again", "maybe"]
    why: str
    tokens: int
    cost: str


class ExpectedCalls(Shape):
    """The expected fates of the calls ahead, from the recording of these steps.

    `reused` calls are not made again, those of `again` are. Those of `maybe` are unknown until
    run: other input leads to another call, or to none. Tokens and cost are of `again`, those of
    `maybe` are the most that they took. Calls whose model has no known price are counted as
    unpriced, and no cost includes them. `calls` are the first 200.
    """

    reused: int
    again: int
    maybe: int
    tokens: int
    cost: str
    tokens_maybe: int
    cost_maybe: str
    tokens_reused: int
    cost_reused: str
    unpriced: int
    unpriced_maybe: int
    unpriced_reused: int
    calls: list[ExpectedCall]

    @classmethod
    def as_json(cls, expected: Expected) -> dict[str, Any]:
        """The fields, for the wire."""
        return {
            "reused": expected.count(REUSED),
            "again": expected.count(AGAIN),
            "maybe": expected.count(MAYBE),
            "tokens": expected.tokens(AGAIN),
            "cost": expected.cost(AGAIN),
            "tokens_maybe": expected.tokens(MAYBE),
            "cost_maybe": expected.cost(MAYBE),
            "tokens_reused": expected.tokens(REUSED),
            "cost_reused": expected.cost(REUSED),
            "unpriced": expected.unpriced(AGAIN),
            "unpriced_maybe": expected.unpriced(MAYBE),
            "unpriced_reused": expected.unpriced(REUSED),
            "calls": [
                {
                    "activity": call.activity.id,
                    "step": call.activity.step,
                    "node": call.activity.node,
                    "tool": call.activity.tool,
                    "kind": call.activity.kind,
                    "fate": call.fate,
                    "why": call.why,
                    "tokens": call.tokens,
                    "cost": f"{call.cost:f}",
                }
                for call in expected.calls[:CALLS_LISTED]
            ],
        }


BELOW = (
    "Unfinished threads that it started, and those below them, by status (`held`: those that "
    "begin when others end); with `children` it "
    "reaches them as well."
)
DROPPED = (
    "Steps of a hot agent that are dropped with it, in words: those that only the hot store holds "
    "while it does not answer. Empty where there are none."
)
