"""One request: what is asked, on what evidence, who decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries
from checkpoints.views import AgentRow, ThreadRow
from dashboard import fields
from dashboard.actions import may
from dashboard.people import people
from dashboard.permissions import needs
from dashboard.shapes import Field

from .rights import Class, Roles, rights_of


@dataclass
class ApprovalPage:
    """The reads of one look at a request, each done at most once; raises NotFound."""

    workspace: UUID
    id: UUID
    _thread_id: UUID | None = field(default=None, repr=False)

    topic = "approval"

    @cached_property
    def thread(self) -> ThreadRow:
        """Read before the request: its number is the page's and never newer than what is shown."""
        return queries.thread(self._known_thread, workspace=self.workspace)

    @cached_property
    def _known_thread(self) -> UUID:
        return self._thread_id or gates.approval(self.id, workspace=self.workspace).thread

    @property
    def seq(self) -> int:
        """The number of the thread's newest event when this look began."""
        return self.thread.last_seq

    @cached_property
    def mark(self) -> Any:
        """What tells the hub that the request or its thread moved."""
        return queries.thread_marks([self._known_thread]).get(self._known_thread)

    @cached_property
    def approval(self) -> ApprovalRow:
        _ = self.thread
        return gates.approval(self.id, workspace=self.workspace)

    @cached_property
    def version(self) -> AgentRow:
        return queries.agent_version(self.approval.agent_version_id)

    @cached_property
    def history(self) -> list[ApprovalRow]:
        return gates.decided_before(self.approval) if self.approval.tool else []

    @cached_property
    def answer_fields(self) -> list[Field]:
        """Inputs for the answer to a question that has a schema."""
        row = self.approval
        if row.kind != "question" or not isinstance(row.schema, dict):
            return []
        return fields.build(row.schema, {}, compare=False) if "properties" in row.schema else []


def approval_main(page: ApprovalPage, roles: Roles) -> dict[str, Any]:
    """Region approval-main."""
    row = page.approval
    return {
        "approval": row,
        "agent_label": page.version.label,
        "version_label": str(page.version.version),
        "rule": "",
        "history": page.history,
        "people": people([row.decided_by]),
    }


def approval_side(page: ApprovalPage, roles: Roles) -> dict[str, Any]:
    """Region approval-side."""
    decides = may(Class(roles), "decide")
    return {
        "approval": page.approval,
        "thread": page.thread,
        "rights": rights_of(roles),
        "needs": "" if decides else needs("decide"),
        "answer_fields": page.answer_fields,
    }
