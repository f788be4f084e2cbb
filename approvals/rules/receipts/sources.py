"""What a proposal is compared with, and what is known of one value afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID


class Origin(StrEnum):
    """The kinds of sources that a value comes from."""

    RECORDED = "recorded"  # it stands in the output of a recorded call
    COMPUTED = "computed"  # it is the sum or the number of values that are recorded
    PERSON = "person"  # a person entered it
    AGENT = "agent"  # nothing but the agent's own words has it


@dataclass(frozen=True, slots=True)
class File:
    """A text, CSV or JSON file of an output or an input."""

    name: str
    media_type: str
    text: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """One recorded output, or what one person entered once, as JSON text.

    `args` are what the call was made with: what an output merely repeats is no evidence; empty
    where there are none. `ident` names it for the reader of the result.
    """

    ident: UUID
    text: str
    args: str = ""
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True)
class Spot:
    """One place where a value stands: the source, the path in it, and the file if it is in one."""

    source: Source
    path: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The source of one value of a proposal.

    `spot` is None where the agent alone has it, or where it is computed from the proposal's own
    lines: then `lines` are their paths. `count` is how many values a computed one is made of.
    `differs` is what the record that holds the other values of its object has in its place, and
    `repeats` whether a call was made with the value and only repeats it.
    """

    path: str
    value: Any
    origin: Origin
    spot: Spot | None = None
    lines: tuple[str, ...] = ()
    count: int = 0
    differs: str = ""
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Receipts:
    """Those of a whole proposal in its order; `more` values were not looked at."""

    values: tuple[Receipt, ...] = ()
    more: int = 0
    by_path: dict[str, Receipt] = field(default_factory=dict, compare=False, repr=False)
