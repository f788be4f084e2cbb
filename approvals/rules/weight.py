"""The weight of an approval: whether its reviewer is asked a second time before it counts."""

from __future__ import annotations

from typing import Literal

from .verdicts import GATES

type Weight = Literal["lasting", "high", ""]


def weight_of(*, kind: str, risk: str, tool: str, undo: str) -> Weight:
    """The reason for a second question before an approval; empty where one answer is enough.

    `lasting`: the tool has no undo, so a slip stays. `high`: by the risk that the policy or author
    gave. What can be undone and isn't of high risk needs one answer.
    """
    if kind in GATES and tool and not undo:
        return "lasting"
    return "high" if risk == "high" else ""
