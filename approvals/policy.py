"""The rules an admin makes: what needs people though its author asked nobody, on what terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from .terms import Terms


@dataclass(frozen=True, slots=True)
class Facts:
    """What a rule may look at; `cost` is what the thread has spent so far, a decimal string.

    `operation` is empty for an effect of an agent, else what a person wants to do to a thread.
    """

    workspace: UUID
    thread: UUID
    agent: str
    tool: str
    args: Any
    risk: str = ""
    cost: str = "0"
    labels: dict[str, Any] = field(default_factory=dict)
    operation: Literal["", "fork", "roll_back", "edit", "retry"] = ""
    started_by: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """What the policies say of an action: ask people on these terms, or let it happen.

    `version` names the policy and its version (`<uuid>@3`); a request's hash binds it.
    `expires_in`: seconds in which people have to decide; None leaves them as long as they like.
    """

    action: Literal["ask", "allow"]
    version: str
    name: str
    terms: Terms
    risk: str = ""
    title: str = ""
    expires_in: float | None = None


def rule_for(facts: Facts) -> Rule | None:
    """The first active policy of the workspace that matches; None: no policy asks."""
    return None
