"""Changes in an agent's code, and the results of choices for many threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self
from uuid import UUID

from pydantic import Field

from checkpoints.code_parts import CodeChange
from dashboard.documents.state_shape import Shape
from dashboard.kit.shapes.problems import Problem, of_action
from dashboard.threads.code import Chosen


class CodeChanges(Shape):
    """Differences of the offered code; empty if not recorded or if nothing is offered."""

    changes: list[CodeChange]
    alike: list[UUID] = Field(description="Threads that ask the very same, up to 200.")

    @classmethod
    def from_row(cls, changes: Sequence[CodeChange], alike: list[UUID]) -> Self:
        """The answer."""
        return cls(changes=list(changes), alike=alike)


class ChosenOne(Shape):
    """The result of the choice for one thread."""

    id: UUID
    status: int = Field(description="The status that a single call would answer.")
    goes_on: UUID | None = Field(description="This thread, or the fork that continues.")
    problem: Problem | None

    @classmethod
    def from_row(cls, one: Chosen) -> Self:
        """One result."""
        done = 200 if one.goes_on == one.thread else 201
        return cls(
            id=one.thread,
            status=done if one.error is None else one.error.status,
            goes_on=one.goes_on,
            problem=None if one.error is None else Problem.model_validate(of_action(one.error)),
        )


class ChosenMany(Shape):
    """One result per thread, in their order."""

    results: list[ChosenOne]

    @classmethod
    def from_row(cls, done: Sequence[Chosen]) -> Self:
        """The answer."""
        return cls(results=[ChosenOne.from_row(one) for one in done])
