"""Many decisions at once: each by itself, through the one door."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from approvals.queries import ApprovalRow

from .actions import decide
from .errors import ActionError
from .permissions import Actor


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of one item: the request as it stands, or why it was refused."""

    id: UUID
    row: ApprovalRow | None = None
    error: ActionError | None = None


def decide_many(actor: Actor, items: Iterable[Mapping[str, Any]]) -> list[Decided]:
    """One result per item, in their order; one that is refused never stops the others."""
    results = []
    for item in items:
        given = {name: item[name] for name in ("comment", "args") if name in item}
        try:
            row = decide(actor, item["id"], item["verdict"], item["proposal_hash"], **given)
            results.append(Decided(item["id"], row=row))
        except ActionError as error:
            results.append(Decided(item["id"], error=error))
    return results
