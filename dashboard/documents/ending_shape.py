"""The answer on whether two threads end the same."""

from __future__ import annotations

from typing import Literal

from .state_shape import Shape


class EndingPart(Shape):
    """One part in which two endings differ, as text of at most 120 characters."""

    name: str
    left: str
    right: str


class Ending(Shape):
    """Verdict on two endings: the status, the last step that wrote something, what it wrote.

    While one of them has not ended the verdict is `running` and `pairs` has their statuses.
    `unused`: the exchanged call of a counterfactual was made again, with other arguments.
    """

    verdict: Literal["same", "differs", "running"]
    pairs: list[EndingPart]
    unused: bool
