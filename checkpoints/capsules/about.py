"""What the thread.json of a capsule says: which thread it is, and what came with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from ..tables.columns import THREAD
from . import layout
from .layout import BadCapsule, Reader
from .rows import from_json

_MEMBERS: Final = {"format", "exporter", "kind", "thread", "checkpoint", "inputs", "bases"}
# Of format 4: threads of the tree below that are in the capsule, and those next below that are not.
_OF_TREE: Final[dict[str, list[str]]] = {"children": [], "left_out": []}


@dataclass(frozen=True, slots=True)
class About:
    """A thread in a capsule; `row` are its columns as parameters."""

    folder: str
    kind: str
    row: dict[str, Any]
    checkpoint: int | None
    inputs: list[str]
    bases: list[UUID]
    children: list[UUID]
    left_out: list[UUID]

    @property
    def id(self) -> UUID:
        """The thread's id."""
        result: UUID = self.row["id"]
        return result


def about_of(reader: Reader, folder: str = "") -> About:
    """Read and check thread.json in a folder of a capsule; raises BadCapsule, InvalidValue."""
    name = folder + layout.THREAD
    payload = reader.json(name)
    if not isinstance(payload, dict) or payload.get("exporter") != "gatepost":
        raise BadCapsule(f"{name} in the capsule is not one of Gatepost's.")
    if (form := payload.get("format")) not in layout.READABLE:
        upto = f"up to {layout.FORMAT}"
        has = "says no format" if form is None else f"has format {form!r}"
        raise BadCapsule(f"The capsule {has}; this version reads {upto}.")
    if form < 4:
        payload = _OF_TREE | payload
    if payload.keys() != _MEMBERS | _OF_TREE.keys() or payload["kind"] not in (
        "thread",
        "checkpoint",
    ):
        raise BadCapsule(f"{name} in the capsule is not in order.")
    inputs = payload["inputs"]
    related = [payload["bases"], payload["children"], payload["left_out"]]
    if not all(isinstance(one, str) for some in (inputs, *related) for one in some):
        raise BadCapsule(f"{name} in the capsule is not in order.")
    row = from_json(THREAD.exported, payload["thread"], f"{name}: $.thread")
    number = payload["checkpoint"]
    if type(number) is not (int if payload["kind"] == "checkpoint" else type(None)):
        raise BadCapsule(f"{name} in the capsule is not in order.")
    return About(
        folder, payload["kind"], row, number, inputs, *([UUID(i) for i in some] for some in related)
    )
