"""The pages whose address can be saved under a name, each with the one reading of its address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from dashboard.board.filters import address
from dashboard.models import SavedView as ViewRow

from . import questions

BOARD: Final = "board"
RECORDS: Final = "records"


@dataclass(frozen=True, slots=True)
class Surface:
    """A page that views are of: the name of its URL and what people call it.

    Both take an address and the workspace that it is opened in. `canonical` gives an address as it
    is saved, and raises Invalid or InvalidQuery for a wrong one.
    `readable` gives (the address that can be opened, why it shows something else or nothing).
    """

    name: str
    route: str
    title: str
    canonical: Callable[[str, UUID], str]
    readable: Callable[[str, UUID], tuple[str, str]]


def _board(text: str, workspace: UUID) -> str:
    return address.read_address(text, workspace).text


SURFACES: Final[Mapping[str, Surface]] = {
    one.name: one
    for one in (
        Surface(BOARD, "board", "the board", _board, address.readable),
        Surface(
            RECORDS,
            "admin:record_search",
            "the records",
            lambda text, _: questions.read_address(text),
            lambda text, _: questions.readable(text),
        ),
    )
}


def readable(row: ViewRow) -> tuple[str, str]:
    """(the address that a view opens, why it shows something else or nothing)."""
    return SURFACES[row.surface].readable(row.address, row.workspace_id)
