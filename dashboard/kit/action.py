"""An action: one change that a person makes, declared once for API, command and page.

The declaration names the right, the typed input, the function that does it and the words. The
functions are ordinary ones beside it; they take the person, the input and the id of the target,
and the version that was looked at where the action is versioned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from pydantic import ValidationError

from checkpoints.state import deltas
from checkpoints.states import EventKind, WorkspaceEventKind
from dashboard.documents.answer_json import Answer
from dashboard.errors import Invalid, Missing, translated
from dashboard.fields.credentials import check_credentials
from dashboard.identity.permissions import RIGHTS, Actor, require
from dashboard.kit import second_person
from dashboard.kit.api.base import refusal_of
from dashboard.kit.second_person import Operation
from dashboard.kit.shapes.requests import RequestShape

# All declared actions by name.
ACTIONS: Final[dict[str, Action[Any, Any]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview[Plan: Answer]:
    """A look at what an action would do; `takes` is the part of its input that decides that."""

    takes: type[RequestShape]
    answers: type[Plan]
    look: Callable[..., Plan]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A kind of thing that actions are done to: a thread, a breaker.

    `find` reads how a command names one, `help` says how that may be. `detail` reads one as it is
    now; without it an action answers what its function returns. `page` names the address of one.
    """

    name: str
    find: Callable[[Actor, str], UUID]
    help: str | None = None
    metavar: str | None = None
    detail: Callable[[Actor, UUID], Answer] | None = None
    page: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action[Input: RequestShape, Result]:
    """A declared action, such as `breaker.release`.

    `target` is what its address names by id, None for nothing. With `versioned` a caller may name
    the version of the target that was looked at. `alternatives` are fields of which one may be
    given; fields that are `checked_apart` are judged by the function, as the agent has them. With
    `operation` a policy can demand a second person of all but those who are `exempt`, with
    `second_admin` another admin may have to confirm it. `events` are the kinds one of which
    `perform` puts on record. `shape` makes the answer of a call from what `perform` returns, where
    a page needs more. `done` says in a sentence what was done, `help` continues the name of a
    command ("stops all threads"). `call_id` names its call where that is not its name in the
    plural. `arguments` are the words of its command for fields that are no option of their name:
    `["title"]` for one without a dash, `["--before", "NODE"]` for another option, none for a field
    that has no argument. A call is not `keyed` where it awaits a model: an Idempotency-Key holds
    a transaction, also not where the answer has a `secret`, of which no copy is stored.
    `refused` are statuses of its own refusals, beside those of all. `buffered` says of what
    `perform` returned that it is in memory alone: the call then answers 202.
    """

    name: str
    right: str
    takes: type[Input]
    answers: type[Answer]
    perform: Callable[..., Result]
    events: tuple[EventKind | WorkspaceEventKind, ...]
    summary: str
    help: str
    done: Callable[[Input, Result], str]
    description: str = ""
    call_id: str = ""
    target: Target | None = None
    versioned: bool = False
    status: int = 200
    alternatives: tuple[str, ...] = ()
    checked_apart: tuple[str, ...] = ()
    operation: Operation | None = None
    exempt: Callable[[Actor], bool] | None = None
    second_admin: bool = False
    shape: Callable[[Result, Actor], Answer] | None = None
    preview: Preview[Any] | None = None
    arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    secret: bool = False
    keyed: bool = True
    refused: tuple[int, ...] = ()
    examples: str = ""
    buffered: Callable[[Any], bool] | None = None

    def __post_init__(self) -> None:
        """Put it on the list; a name stands there once, and its right is one of the table."""
        if self.name in ACTIONS or self.right not in RIGHTS:
            raise ValueError(f"{self.name} is declared twice or needs an unknown right")
        ACTIONS[self.name] = self
        if self.operation:
            second_person.put_on_list(self.verb, self.operation, self._carry_out)

    @property
    def operation_id(self) -> str:
        """Its call in the OpenAPI document: `breakers_release`."""
        return self.call_id or self.name.replace(".", "s_")

    @property
    def verb(self) -> str:
        """The second part of its name, such as `release`: its verb in commands."""
        return self.name.partition(".")[2]

    @property
    def page(self) -> str:
        """The name of its target's page, empty where there is none."""
        return self.target.page if self.target else ""

    def run(
        self, actor: Actor, wanted: Input, *target: UUID, expected_version: int | None = None
    ) -> Result:
        """Check the right and the input, ask a policy for a second person, then do it.

        Raises ActionErrors, NeedsSecondPerson and BlockedByPolicy among them.
        """
        with translated():
            self._check(actor, wanted)
            if self.operation and not (self.exempt and self.exempt(actor)):
                [thread] = target
                values = dict(wanted) | {"expected_version": expected_version}
                second_person.ask(actor, self.operation, self.verb, thread, values)
            return self._perform(actor, wanted, *target, expected_version=expected_version)

    def answer(self, actor: Actor, result: Result, *target: UUID) -> Any:
        """The shape that a call answers: the target as it is now, or what was returned."""
        if self.shape:
            return self.shape(result, actor)
        detail = self.target and self.target.detail
        return detail(actor, *target) if detail else result

    def _perform(
        self, actor: Actor, wanted: Input, *target: UUID, expected_version: int | None
    ) -> Result:
        version = {"expected_version": expected_version} if self.versioned else {}
        return self.perform(actor, wanted, *target, **version)

    def _carry_out(
        self, actor: Actor, thread: UUID, *, expected_version: int | None = None, **values: Any
    ) -> Result:
        """Do what a second person has approved; `values` are those that were asked for."""
        wanted = read(self.takes, values)
        with translated():
            self._check(actor, wanted)
            return self._perform(actor, wanted, thread, expected_version=expected_version)

    def plan(
        self,
        actor: Actor,
        wanted: RequestShape,
        *target: UUID,
        expected_version: int | None = None,
    ) -> Answer:
        """Check the right and the input, then say what it would do; raises ActionErrors."""
        if self.preview is None:
            raise TypeError(f"{self.name} has no preview")
        with translated():
            self._check(actor, wanted)
            version = {"expected_version": expected_version} if self.versioned else {}
            plan: Answer = self.preview.look(actor, wanted, *target, **version)
        return plan

    def _check(self, actor: Actor, wanted: RequestShape) -> None:
        require(actor, self.right)
        apart = {*self.checked_apart}
        values = wanted.model_dump(mode="json", exclude_unset=True, exclude=apart)
        deltas.check(values)  # also texts of forms and commands, which no parser has read
        check_credentials("$", values)
        both = [name for name in self.alternatives if values.get(name) is not None]
        if len(both) > 1:
            raise Invalid(f"$.{both[-1]}", f"give {' or '.join(both)}, not both")


def by_id(missing: str) -> Callable[[Actor, str], UUID]:
    """Find what has no name by its id; the sentence `missing` for another text."""

    def find(_: Actor, text: str) -> UUID:
        try:
            return UUID(text)
        except ValueError:
            raise Missing(missing) from None

    return find


def read[Shape: RequestShape](shape: type[Shape], values: Mapping[str, Any]) -> Shape:
    """Values as a shape; raises Invalid with the path of each fault."""
    try:
        return shape.model_validate(dict(values))
    except ValidationError as error:
        raise refusal_of(error) from error
