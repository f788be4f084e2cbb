"""What people are asked, and the hashes that bind it; pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from checkpoints.log.seals import seal
from checkpoints.records import Position
from checkpoints.state import deltas

from ..columns import APPROVAL
from ..states import DEFAULT_RISK
from .terms import Terms

TITLE_MAX = 300


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed action or question at one position; canonical JSON arguments.

    `allowed_by` names the rule by which the policy `policy_version` lets it happen without people,
    `blocked_by` the one by which it refuses it.
    `policies` names all that were asked (`queries_policies.mark_of`). `repeats` is what
    was done before, for a repeat: {activity, thread, title, at, state, args, result, approval,
    approved_by, fork}. `sentence` is the tool's description of the call; empty without one.
    `origin` is on whose behalf a child asks: its parents from the root down, [{thread, agent,
    title}].
    """

    position: Position
    kind: str
    tool: str
    args: Any
    title: str
    description: str = ""
    reasons: tuple[str, ...] = ()
    risk: str = DEFAULT_RISK
    schema: Any = None
    undo: str = ""
    expires_in: float | None = None
    policy_version: str = "author"
    revision: int = 0
    terms: Terms | None = None
    allowed_by: str = ""
    blocked_by: str = ""
    policies: str = ""
    repeats: Any = None
    sentence: str = ""
    origin: Any = None

    @property
    def asks(self) -> bool:
        """Answer True if people decide it, and no policy by itself."""
        return not (self.allowed_by or self.blocked_by)

    @property
    def verdict(self) -> PolicyVerdict:
        """The verdict of the policy that decides it by itself."""
        name = f"the policy: {self.allowed_by or self.blocked_by}"[:200]
        by = f"policy:{self.policy_version}"
        if self.allowed_by:
            return PolicyVerdict(by, name, "approve", "")
        return PolicyVerdict(by, name, "reject", "" if self.terms is None else self.terms.rule)


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """The decision of a policy on a request that nobody was asked about."""

    by: str
    by_name: str
    verdict: str
    comment: str

    @property
    def supersedes(self) -> str:
        """The reason for which a former request at its place is withdrawn."""
        verb = "allows" if self.verdict == "approve" else "blocks"
        return f"No longer asked: {self.by_name} {verb} it."


def proposal_hash(
    *,
    workspace: UUID,
    thread: UUID,
    position: Position,
    tool: str,
    args: Any,
    agent_version: UUID,
    policy_version: str,
    deadline: datetime | None,
    origin: Any = None,
) -> str:
    """Hash the content that a decision binds to, as hex sha256; an upgrade leaves it unchanged."""
    p = position
    return hashlib.sha256(
        b"gatepost-proposal-1"
        + deltas.canonical(
            {
                "workspace": str(workspace),
                "thread": str(thread),
                "position": [p.branch, p.step, p.node, p.index, p.key],
                "tool": tool,
                "args": args,
                "agent_version": str(agent_version),
                "policy": policy_version,
                "deadline": None if deadline is None else deadline.isoformat(),
                **({"origin": origin} if origin else {}),
            }
        )
    ).hexdigest()


# Columns that came later, empty: where one is so the seal is that of a request before it.
LATER: Mapping[str, Any] = {
    "terms": None,
    "policies": "",
    "repeats": None,
    "sentence": "",
    "origin": None,
}


def titled(text: str) -> str:
    """A title as its column takes it; what is left out shows as an ellipsis."""
    return text if len(text) <= TITLE_MAX else f"{text[: TITLE_MAX - 1]}…"


def request_seal(row: Mapping[str, Any]) -> str:
    """Seal the columns that the event of a request binds: every sealed column; JSON as values.

    Columns added later are left out while they have their default: seals of older requests hold.
    """
    deadline = row["deadline"]
    times = {"deadline": None if deadline is None else deadline.astimezone(UTC).isoformat()}
    bound = {n: row[n] for n in APPROVAL.sealed if n not in LATER or row[n] != LATER[n]}
    return seal("request", bound | times)


def decision_content(
    *,
    approval: UUID,
    reviewer: str,
    verdict: str,
    proposal_hash: str,
    comment: str,
    args: Any,
    what_next: str = "",
    for_person: str = "",
) -> bytes:
    """The canonical bytes that the hash of a decision covers, after its salt.

    What came later enters only where it is not empty.
    """
    payload = {
        "approval": str(approval),
        "reviewer": reviewer,
        "verdict": verdict,
        "proposal_hash": proposal_hash,
        "comment": comment,
        "args": args,
    }
    later = {"what_next": what_next, "for_person": for_person}
    return deltas.canonical(payload | {name: value for name, value in later.items() if value})
