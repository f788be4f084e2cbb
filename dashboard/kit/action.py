"""An action: one change that a person makes, declared once for API, command and page.

The declaration names the right, the typed input, the function that does it and the words. The
functions are ordinary ones beside it; they take the person, the input and the id of the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, ValidationError

from checkpoints.state import deltas
from checkpoints.states import EventKind, WorkspaceEventKind
from dashboard.api.protocol.base import refusal_of
from dashboard.api.shapes.requests import RequestShape
from dashboard.errors import Invalid, translated
from dashboard.fields.credentials import check_credentials
from dashboard.identity.permissions import RIGHTS, Actor, require

# All declared actions by name.
ACTIONS: Final[dict[str, Action[Any, Any]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview[Plan: BaseModel]:
    """A look at what an action would do; `takes` is the part of its input that decides that."""

    takes: type[RequestShape]
    answers: type[Plan]
    look: Callable[..., Plan]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action[Input: RequestShape, Answer: BaseModel]:
    """A declared action, such as `breaker.release`.

    `target` is the kind of thing that its address names by id, empty for none. `alternatives` are
    fields of which one may be given. `event` is the kind that `perform` puts on record. `done` says
    in a sentence what was done, `help` continues the name of a command ("stops all threads").
    """

    name: str
    right: str
    takes: type[Input]
    answers: type[Answer]
    perform: Callable[..., Answer]
    event: EventKind | WorkspaceEventKind
    summary: str
    help: str
    done: Callable[[Answer], str]
    description: str = ""
    target: str = ""
    status: int = 200
    alternatives: tuple[str, ...] = ()
    preview: Preview[Any] | None = None
    examples: str = ""

    def __post_init__(self) -> None:
        """Put it on the list; a name stands there once, and its right is one of the table."""
        if self.name in ACTIONS or self.right not in RIGHTS:
            raise ValueError(f"{self.name} is declared twice or needs an unknown right")
        ACTIONS[self.name] = self

    @property
    def operation_id(self) -> str:
        """Its call in the OpenAPI document: `breakers_release`."""
        return self.name.replace(".", "s_")

    def run(self, actor: Actor, wanted: Input, *target: UUID) -> Answer:
        """Check the right and the input, then do it; raises ActionErrors."""
        with translated():
            self._check(actor, wanted)
            return self.perform(actor, wanted, *target)

    def plan(self, actor: Actor, wanted: RequestShape, *target: UUID) -> BaseModel:
        """Check the right and the input, then say what it would do; raises ActionErrors."""
        if self.preview is None:
            raise TypeError(f"{self.name} has no preview")
        with translated():
            self._check(actor, wanted)
            plan: BaseModel = self.preview.look(actor, wanted, *target)
        return plan

    def _check(self, actor: Actor, wanted: RequestShape) -> None:
        require(actor, self.right)
        values = wanted.model_dump(mode="json", exclude_unset=True)
        deltas.check(values)  # also texts of forms and commands, which no parser has read
        check_credentials("$", values)
        both = [name for name in self.alternatives if values.get(name) is not None]
        if len(both) > 1:
            raise Invalid(f"$.{both[-1]}", f"give {' or '.join(both)}, not both")


def read[Shape: RequestShape](shape: type[Shape], values: Mapping[str, Any]) -> Shape:
    """Values as a shape; raises Invalid with the path of each fault."""
    try:
        return shape.model_validate(dict(values))
    except ValidationError as error:
        raise refusal_of(error) from error
