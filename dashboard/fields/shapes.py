"""Values for templates beside domain rows: small frozen dataclasses, no behaviour.

Rows of `checkpoints.queries` and `approvals.queries` go to the templates as they are; only what a
page adds to them has a shape here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Action:
    """A button of a thread: `verb` is pause, resume, retry, edit, fork, rollback or cancel.

    A button that may not be pressed stays on the page and `reason` says what is missing, for
    example "Needs the role operator" or "The thread is finished".
    """

    verb: str
    enabled: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rights:
    """A person's rights in the workspace; one rendering per value serves many sockets."""

    start: bool = False
    control: bool = False
    edit: bool = False
    fork: bool = False
    rollback: bool = False
    decide: bool = False
    export: bool = False
    stop: bool = False  # many threads, by a breaker
    erase: bool = False  # to request it, with a second person


@dataclass(frozen=True, slots=True)
class Lane:
    """The threads of one status on the board: some rows, how many there are, where all are."""

    status: str
    total: int
    rows: Sequence[Any]
    href: str = ""
    code: Sequence[Any] = ()  # of those in attention: the choices of code that they wait for
    alike: Sequence[Any] = ()  # groups of `rows` that failed alike
    single: Sequence[Any] = ()  # those of `rows` that are in no group


@dataclass(frozen=True, slots=True)
class FilterChip:
    """A filter of a list; `phrase` ends the sentence of an empty one, `without` is its address."""

    name: str
    value: str
    word: str
    title: str
    phrase: str
    without: str


@dataclass(frozen=True, slots=True)
class StuckGroup:
    """Number of threads of an agent that are stuck at a node, and the board of these."""

    agent: str
    node: str
    threads: int
    href: str


@dataclass(frozen=True, slots=True)
class Hidden:
    """Children that a board leaves out, such as “10 children not listed”, and where they are."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Counter:
    """Number of threads in a status under the other filters; `href` chooses or drops it."""

    status: str
    n: int
    pressed: bool
    href: str


@dataclass(frozen=True, slots=True)
class Kind:
    """A chip over the event list: "" is all; `current` marks the chosen one.

    `n` is None where nobody counted, `about` says among which events `n` was counted.
    """

    name: str
    n: int | None
    current: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """Option of a select: the value that it sends, and the text that a person reads."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Cell:
    """An input of a table; `label` names it for a screen reader."""

    name: str
    kind: str
    value: str
    label: str
    options: Sequence[Option] = ()


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table of inputs; `remove` is the box that takes it out, "" for an empty one."""

    number: int
    cells: Sequence[Cell]
    remove: str
    removed: bool


@dataclass(frozen=True, slots=True)
class Field:
    """One input of a form made from a JSON Schema.

    kind: text, textarea, lines (one string each), integer, number, bool, date, datetime, select,
    pair (key:value), table (`rows` of cells), json, file or fixed (shown, not editable).
    name is the form name (`f-<channel>`), value and was are text as an input shows it. `readings`
    are what it may mean when it is left empty, where a person has to say which; `reading` is
    chosen. `required`: nothing is sent before it is answered; `native_required`: no empty input can
    answer it, so that the browser may ask for it. `zone` is the chosen one of a time.
    """

    name: str
    label: str
    kind: str
    value: str = ""
    was: str | None = None
    help: str = ""
    error: str = ""
    required: bool = False
    native_required: bool = False
    options: Sequence[Option] = ()
    attrs: dict[str, str] = field(default_factory=dict)
    readings: Sequence[Option] = ()
    reading: str = ""
    zones: Sequence[Option] = ()
    zone: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[TableRow] = ()

    @property
    def line_end(self) -> str:
        """Line end that a browser drops at the begin of a textarea whose value begins with one."""
        return "\n" if self.value.startswith(("\n", "\r")) else ""

    @property
    def reading_words(self) -> str:
        """Meaning of an empty input as it stands."""
        return next((one.label for one in self.readings if one.value == self.reading), "")

    @property
    def channel(self) -> str:
        """The key of the state that this input writes."""
        return self.name.removeprefix("f-")


@dataclass(frozen=True, slots=True)
class Ahead:
    """Expected fates of the recorded calls ahead: numbers reused, called again, or either.

    `tokens` and `cost` are of those called again, the `_maybe` ones of those that may be.
    """

    reused: int = 0
    again: int = 0
    maybe: int = 0
    tokens: int = 0
    cost: str = ""
    tokens_maybe: int = 0
    cost_maybe: str = ""
    tokens_reused: int = 0
    calls: Sequence[Any] = ()

    @property
    def known(self) -> int:
        """The number of calls recorded ahead."""
        return self.reused + self.again + self.maybe


@dataclass(frozen=True, slots=True)
class ForkPreview(Ahead):
    """The expected cost of a fork, and the first effect before which it stops."""

    first_effect: str = ""
    config: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ListPosition:
    """An approval's position among the open ones, for the arrows on its page.

    `more`: there are others beyond `total`.
    """

    number: int
    total: int
    more: bool
    before: UUID | None = None
    after: UUID | None = None
