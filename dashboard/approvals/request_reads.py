"""One request: what is asked, on what evidence, who decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from django.urls import reverse

from approvals import queries as gates
from approvals.gates import verdicts_of
from approvals.gates.prior_effects import PriorEffects, prior_effects
from approvals.inbox.boxes import WALKED
from approvals.policies import queries as queries_policies
from approvals.queries import ApprovalRow
from approvals.rules.verdicts import offered
from approvals.rules.votes import person
from approvals.states import ALLOWING
from checkpoints import queries
from checkpoints.errors import NotFound
from checkpoints.states import EventKind, Status
from checkpoints.views import ActivityRow, AgentRow, EffectFate, EventRow, ThreadRow
from dashboard.fields.shapes import Field
from dashboard.html import differences
from dashboard.identity.administrator import AUDIT
from dashboard.identity.people import people
from dashboard.identity.permissions import may, needs
from dashboard.threads.page.damage import damage_of
from dashboard.threads.page.rights import Class, Roles, rights_of
from dashboard.threads.plans.operation import operation_plan
from dashboard.wording.operations import OUTCOMES, carried_out, operation
from dashboard.wording.parties import recognised
from dashboard.wording.young_accounts import young_accounts

from . import evidence
from .answer import answer_fields
from .inbox import InboxPage
from .receipt_shape import ProposalReceipts
from .receipts import receipts_of
from .repeats import Repeated, repeat_of
from .reviewers import RequestProgress, Viewer, own, progress_of
from .turns import nobody_can


@dataclass(frozen=True, slots=True)
class Onward:
    """The link on from a request: its words, and how many requests are left, "" for none."""

    address: str
    words: str
    left: str


@dataclass
class ApprovalPage:
    """The reads of one look at a request, each done at most once; raises NotFound."""

    workspace: UUID
    id: UUID
    _thread_id: UUID | None = field(default=None, repr=False)
    viewer: Viewer | None = field(default=None, repr=False)
    seen: str = ""  # the hash of what the person has looked at; empty: what stands
    opened: InboxPage | None = None  # the list that the page was opened from
    wanted_next: str = ""  # the id of the request that came after this one in that list
    exact: bool = False  # whether JSON is wanted that is longer than what pages have
    lines: str = ""  # the column by which lines are sorted, "-" in front: the largest first
    whole_texts: bool = False  # very long texts are here, and not fetched when they are unfolded

    topic = "approval"

    @property
    def trail(self) -> str:
        """The list that the page was opened from, as a query; empty where from none."""
        return self.opened.trail if self.opened else ""

    @property
    def onward(self) -> Onward | None:
        """The way on from a request that this person is done with; None while it waits for them."""
        row, opened = self.approval, self.opened or InboxPage(self.workspace, sort="age")
        if opened.box == "done":
            return None  # a list to read: its arrows lead on
        following, left = opened.following(row.id, self.wanted_next)
        if following is None:
            return Onward(f"{reverse('approvals')}?{opened.trail}", "Back to the list", "")
        held = f"&held={row.id}" if row.status == "held" else ""
        n_left = f"{WALKED:,}+ requests" if left >= WALKED else f"{left:,} request"
        n_left += "" if left == 1 or left >= WALKED else "s"
        return Onward(
            f"{reverse('approval', args=[following])}?{opened.trail}{held}", "Next request", n_left
        )

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
        """The mark that shows the hub whether the request or its thread changed."""
        return queries.thread_mark(self._known_thread)

    @cached_property
    def approval(self) -> ApprovalRow:
        _ = self.thread
        return gates.approval(self.id, workspace=self.workspace)

    @cached_property
    def version(self) -> AgentRow:
        return queries.agent_version(self.approval.agent_version_id)

    @cached_property
    def policy(self) -> str:
        """The policy that asks and its version, as people call it; empty where the author did."""
        payload, _, number = self.approval.policy_version.rpartition("@")
        try:
            name = queries_policies.policy(UUID(payload), workspace=self.workspace).name
        except (ValueError, NotFound):
            return f"Policy {payload[-8:]}, version {number}." if payload else ""
        known = name in self.progress.terms.rule
        return f"Version {number}." if known else f"Policy {name}, version {number}."

    @property
    def policy_id(self) -> UUID | None:
        """The policy that asks, as its page is addressed; None where the author did."""
        row = self.approval
        named = None if row.imported else queries_policies.version_named(row.policy_version)
        return None if named is None else named[0]

    @cached_property
    def history(self) -> list[ApprovalRow]:
        """Decisions on the same tool of the same agent, newest first."""
        return gates.decided_before(self.approval, limit=20) if self.approval.tool else []

    @cached_property
    def progress(self) -> RequestProgress:
        """The approvals so far and those still needed."""
        return progress_of(self.approval, gates.votes(self.id))

    @cached_property
    def accounts(self) -> dict[UUID, str]:
        """{decision: what is said of a young account that a participant created}."""
        return young_accounts(self.approval, self.progress.votes)

    @property
    def decider_account(self) -> str:
        """The same of the vote that decided."""
        deciding = (v for v in reversed(self.progress.votes) if v.counts or v.verdict == "reject")
        who = self.approval.decided_by
        return next((self.accounts.get(v.decision, "") for v in deciding if v.reviewer == who), "")

    @cached_property
    def nobody(self) -> str:
        """The reason why too few people can approve it under current rights; else empty."""
        row = self.approval
        asks = row.open and row.kind != "question"
        return nobody_can(row.progress, self.workspace) if asks else ""

    @cached_property
    def former(self) -> ApprovalRow | None:
        """The revision before this one."""
        row = self.approval
        if not row.revision:
            return None
        return evidence.former(row, gates.at_step(row.thread, branch=row.branch, step=row.step))

    @cached_property
    def last(self) -> evidence.Compared | None:
        """The last comparable action."""
        return evidence.last_comparable(self.approval, self.history, self.schema)

    @cached_property
    def _log(self) -> list[EventRow]:
        """Replies to questions and what came after a decision, newest first."""
        kinds = (EventKind.APPROVAL_REPLIED, *evidence.AFTERWARDS, *OUTCOMES)
        before = self.thread.last_seq + 1
        return list(queries.events(self.thread.id, kinds=kinds, before=before, limit=200).rows)

    @cached_property
    def questions(self) -> list[evidence.Question]:
        """The reviewers' questions, with the agent's replies."""
        votes = self.progress.votes
        if self.approval.kind == "question" or not any(v.verdict == "respond" for v in votes):
            return []
        return evidence.questions(votes, evidence.about(self.approval, self._log))

    @cached_property
    def resumed(self) -> evidence.Resumed | None:
        """The effect of a settled decision on the thread; None if the request has none."""
        row = self.approval
        payload = row.status in ("settled", "expired") and row.kind != "operation"
        if not payload or row.imported:
            return None
        queued = self.thread.status in (Status.QUEUED, Status.RUNNING)
        workers = queries.workers() if queued else []
        return evidence.resumed(row, self.thread, self._log, workers)

    @cached_property
    def did(self) -> ActivityRow | None:
        """The effect that was carried out under this request; None where none was (yet)."""
        row = self.approval
        allowed = row.status == "settled" and row.outcome in ALLOWING
        return queries.activity_under(row.id) if allowed and row.effect else None

    @cached_property
    def followed(self) -> list[evidence.Followed]:
        """The effects that the thread did by itself after the one of this request."""
        return [] if self.did is None else evidence.followed(self.did)

    @property
    def carried_out(self) -> str:
        """The result of an approved operation, in a sentence."""
        row = self.approval
        return carried_out(row, self._log) if row.kind == "operation" and row.outcome else ""

    @cached_property
    def fates(self) -> list[EffectFate]:
        """The effects that a rollback of the thread would undo, newest first."""
        row = self.approval
        return queries.effects_of(row.thread) if row.open and row.gate else []

    @cached_property
    def lasting(self) -> list[str]:
        """Tools of the same agent that have no undo: what may follow this without a request."""
        row, tools = self.approval, self.version.tools
        if not row.gate or not row.undo:
            return []
        return [n for n, t in sorted(tools.items()) if n != row.tool and not t.get("undo")]

    @cached_property
    def repeat(self) -> Repeated | None:
        """The earlier action that this one would repeat; None if it repeats none."""
        return repeat_of(self.approval, workspace=self.workspace)

    @cached_property
    def prior(self) -> PriorEffects:
        """The effects of the same node that were done before it asked."""
        return prior_effects(self.approval)

    @cached_property
    def receipts(self) -> ProposalReceipts | None:
        """The source of each value of the proposal."""
        return receipts_of(self.approval, self.thread)

    @cached_property
    def schema(self) -> dict[str, Any] | None:
        """The schema of the arguments that a reviewer may edit; None if nobody declared one."""
        return evidence.arguments_schema(self.approval, self.version)

    @property
    def looked(self) -> str:
        """The hash that an approval of this person names."""
        return self.seen or self.approval.standing_hash

    @property
    def changed(self) -> bool:
        """True if the current proposal is not the one that the person has looked at."""
        return self.approval.open and self.looked != self.approval.standing_hash

    @property
    def second_question(self) -> str:
        """The reason for a second question: last, lasting or high; empty where there is none.

        The one rule of the page with scripts and without.
        """
        return "last" if self.progress.last else self.approval.weight

    @property
    def ended(self) -> bool:
        """True if somebody else ended the request while this person had it open."""
        row = self.approval
        mine = self.viewer is not None and person(row.decided_by) == self.viewer.person
        return bool(self.seen) and not row.open and not mine

    @cached_property
    def seen_args(self) -> Any:
        """The arguments that the person has looked at; None if they are unknown by now."""
        if self.seen == self.approval.proposal_hash:
            return self.approval.args
        edits = [v for v in self.progress.votes if v.verdict == "edit"]
        return next((v.args for v in edits if v.proposal_hash == self.seen), None)

    @cached_property
    def answer_fields(self) -> list[Field]:
        """Inputs for the answer to a question that has a schema."""
        row = self.approval
        return answer_fields(row.schema) if row.kind == "question" else []


def approval_main(page: ApprovalPage, roles: Roles) -> dict[str, Any]:
    """Region approval-main."""
    row, before = page.approval, page.former
    return damage_of(page.thread) | {
        "approval": row,
        "agent_label": page.version.label,
        "version_label": str(page.version.version),
        "what": recognised(row.shown_args),
        "standing": page.progress,
        "policy": page.policy,
        "policy_id": None if AUDIT.isdisjoint(roles) else page.policy_id,
        "args_schema": page.schema,
        "last": page.last,
        "edited": None
        if row.standing_args is None
        else differences.changes(row.shown_args, row.args, page.schema),
        "former": evidence.against(row, before, before.shown_args, page.schema) if before else None,
        "reappeared": evidence.reappeared(row, before) if before else "",
        "description": evidence.split_again(row.description)[1],
        "history": page.history[: evidence.SHOWN],
        "questions": page.questions,
        "repeat": page.repeat,
        "prior": page.prior,
        "lasting": page.lasting,
        "operation": operation(row) if row.kind == "operation" else None,
        "plan": operation_plan(row, page.thread),
        "receipts": page.receipts,
        "exact": page.exact,
        "lines": page.lines,
        "texts_of": None if page.whole_texts else page.approval.id,
        "people": people([row.decided_by]),
        "accounts": page.accounts,
        "decider_account": page.decider_account,
    }


def approval_changed(page: ApprovalPage, roles: Roles) -> dict[str, Any]:
    """Region approval-changed: what moved since the person looked; it is theirs, so fetched."""
    row = page.approval
    editor = next((v for v in reversed(page.progress.votes) if v.verdict == "edit"), None)
    return {
        "approval": row,
        "changed": page.changed,
        "ended": page.ended,
        "seen_args": page.seen_args,
        "editor": editor if row.standing_args is not None else None,
    }


def approval_side(page: ApprovalPage, roles: Roles) -> dict[str, Any]:
    """Region approval-side; what the person who looks may do stands here, so it is fetched."""
    row = page.approval
    decides, possible = may(Class(roles), "decide"), verdicts_of(row)
    verdicts = offered(row.kind, row.schema, possible)
    mine = own(row, page.viewer)
    done = decides and page.viewer is not None and (not row.open or mine.why)
    return {
        "approval": row,
        "thread": page.thread,
        "rights": rights_of(roles),
        "needs": mine.why if decides else needs("decide"),
        "own": mine,
        "changed": page.changed,
        "looked": page.looked,
        "trail": page.trail,
        "verdicts": verdicts,
        "editable": "edit" in verdicts and isinstance(row.shown_args, dict),
        "what": recognised(row.shown_args),
        "standing": page.progress,
        "second_question": page.second_question,
        "onward": page.onward if done else None,
        "accounts": page.accounts,
        "nobody": page.nobody,
        "ended": page.ended,
        "resumed": page.resumed,
        "carried_out": page.carried_out,
        "did": page.did,
        "followed": page.followed,
        "fates": page.fates,
        "repeat": page.repeat,
        "answer_fields": page.answer_fields,
    }
