"""The report on a request: what was asked, who was to decide, who did, the outcome, the proof.

Page, file and API show the same reads. Nothing here is written for the report: it is what the
record has, as it stands when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, cast
from uuid import UUID

from approvals import records
from approvals.queries import ApprovalRow
from approvals.records import OF_REQUESTS, Look, Notice, Outcome, Outcomes, Question, RecordRow
from approvals.rules.votes import Vote
from approvals.states import ALLOWING
from approvals.verification.integrity import ThreadIntegrity, integrity_of
from checkpoints import queries
from checkpoints.addresses import thread_address
from checkpoints.state.list_keys import Part
from checkpoints.views import ActivityRow, VerificationRow
from dashboard.documents.state_shape import Shape
from dashboard.html.differences import container, pairs_of, same
from dashboard.html.list_pairs import MISSING
from dashboard.identity.people import people
from dashboard.wording import sentences
from dashboard.wording.events import event_sentence
from dashboard.wording.parties import Recognised, recognised
from dashboard.wording.text import span

from .report_outcomes import CUT, outcome_in_words
from .request_reads import ApprovalPage

LINES_MAX: Final = 500
FOUR_EYES: Final = "People who started, forked or edited the thread can’t approve"


class ReportedDifference(Shape):
    """A value that differs; `what` is added, changed or removed."""

    path: str
    before: Any
    now: Any
    what: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One vote with what it changed in the arguments that stood before it."""

    vote: Vote
    edits: list[ReportedDifference]

    @property
    def void(self) -> bool:
        """True where it allowed the proposal and does not count for what stands now."""
        return self.vote.verdict in ALLOWING and not self.vote.counts


@dataclass(frozen=True, slots=True)
class Proved:
    """An event of the request with what it says in words, and who did it."""

    row: RecordRow
    says: str
    who: str
    damage: str


class DecisionReport:
    """The reads of one report, each done at most once; raises NotFound."""

    def __init__(self, workspace: UUID, approval: UUID, *, by: str) -> None:
        self.workspace = workspace
        self.by = by
        self.page = ApprovalPage(workspace, approval)

    @property
    def approval(self) -> ApprovalRow:
        """The request as it stands."""
        return self.page.approval

    @property
    def about(self) -> Recognised:
        """Amount, payee and account, where the arguments name them."""
        return recognised(self.approval.shown_args)

    @property
    def last_time(self) -> list[ReportedDifference]:
        """Differences from the last comparable action; empty where there is none."""
        last = self.page.last
        return (
            []
            if last is None
            else differences(last.args, self.approval.shown_args, self.page.schema)
        )

    @property
    def terms(self) -> Any:
        """The demands of the policy in force: stages, four eyes, deadlines, undo window."""
        return self.page.progress.terms.to_json()

    @property
    def terms_in_words(self) -> list[tuple[str, str]]:
        """(name, value) of each of them."""
        terms = self.page.progress.terms
        expiry = {"expire": "It expires", "reject": "It is rejected"}.get(terms.on_expiry, "")
        if terms.on_expiry == "escalate" and terms.escalate_to is not None:
            expiry = f"It goes to {terms.escalate_to.in_words} for {span(terms.escalate_for)}"
        stages = (f"{seat.count} of {seat.in_words}" for seat in terms.stages)
        return [
            ("Approvals", ", then ".join(stages)),
            ("Four eyes", FOUR_EYES if terms.four_eyes else "No"),
            ("Time to undo", span(terms.undo_window) if terms.undo_window else "None"),
            ("Approval valid for", span(terms.valid_for)),
            ("If nobody decides in time", expiry or "It expires"),
            ("Reminders", ", ".join(f"after {span(s)}" for s in terms.reminders) or "None"),
        ]

    @cached_property
    def looks(self) -> list[tuple[str, Look]]:
        """(name, look) of who opened it while it was open."""
        result = records.looks_at(self.approval.id, workspace=self.workspace)
        names = people(look.person for look in result)
        return [(sentences.person(look.person, names), look) for look in result]

    @cached_property
    def notices(self) -> list[tuple[str, Notice]]:
        """(whom, message) of what was sent about it."""
        result = records.notices_of(self.approval.id, workspace=self.workspace)
        names = people(notice.recipient for notice in result)
        return [(names.get(n.recipient) or n.recipient or n.endpoint, n) for n in result]

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """All votes, oldest first, edits as differences to what stood before."""
        stood, result = self.approval.args, []
        for vote in self.page.progress.votes:
            edits = []
            if vote.verdict == "edit":
                edits, stood = differences(stood, vote.args, self.page.schema), vote.args
            result.append(Verdict(vote, edits))
        return result

    @cached_property
    def done(self) -> ActivityRow | None:
        """The effect that was carried out under it."""
        return queries.activity_under(self.approval.id) if self.approval.effect else None

    @property
    def done_as_approved(self) -> bool:
        """True if it was carried out with the very arguments that stand in the request."""
        return self.done is not None and same(self.done.args, self.approval.shown_args)

    @cached_property
    def outcomes(self) -> Outcomes:
        """The effects that came of it, as the search of the record lists them."""
        result = records.outcomes_of([self.approval.id], workspace=self.workspace)
        return result[self.approval.id]

    @property
    def came_of(self) -> list[Outcome]:
        """Those effects alone."""
        return self.outcomes.rows

    @property
    def cut(self) -> str:
        """A sentence where there may be more of them."""
        return "" if self.outcomes.complete else CUT

    @property
    def failed_undos(self) -> list[Outcome]:
        """The effects whose last undo failed: they are still in place."""
        return [one for one in self.came_of if one.undo_failed]

    @property
    def others(self) -> list[str]:
        """Those of them in words that `done` is not."""
        done = self.done
        return [
            f"{outcome_in_words(one)}{f' ({one.sentence})' if one.sentence else ''}"
            for one in self.came_of
            if done is None or one.activity != done.id
        ]

    @cached_property
    def proof(self) -> list[Proved]:
        """The events of the request, of its outcome and of its undo, in order."""
        row = self.approval
        question = Question(self.workspace, thread=row.thread, kinds=OF_REQUESTS)
        activities = {str(one.activity) for one in self.came_of}
        events = [
            one
            for some in records.oldest_first(question)
            for one in some
            if one.approval == row.id or _data(one).get("activity") in activities
        ]
        names = people(one.actor for one in events)
        return [
            Proved(
                one,
                event_sentence(cast(Any, one), names),
                sentences.person(one.actor, names, imported=one.imported),
                self.integrity.damage_at(one.seq),
            )
            for one in events
        ]

    @property
    def address(self) -> str:
        """The page of the thread as of the checkpoint before the request."""
        first = self.proof[0].row.checkpoint if self.proof else None
        return thread_address(self.approval.thread, checkpoint=first)

    @property
    def undone(self) -> list[Proved]:
        """The events of its undo."""
        return [one for one in self.proof if one.row.kind.startswith("compensation.")]

    @cached_property
    def integrity(self) -> ThreadIntegrity:
        """The verification of the thread's record, made now unless the thread is long."""
        thread = self.approval.thread
        return integrity_of([thread], workspace=self.workspace, by=self.by)[thread]

    @property
    def verification(self) -> VerificationRow | None:
        """The result of that verification; None where there was none."""
        return self.integrity.verification

    @cached_property
    def made_at(self) -> datetime:
        """The time at which the report was made."""
        return datetime.now(UTC)

    def context(self) -> Mapping[str, Any]:
        """The values that the template of page and file shows."""
        return {
            "report": self,
            "approval": self.approval,
            "thread": self.page.thread,
            "version": self.page.version,
            "last": self.page.last,
            "standing": self.page.progress,
            "policy": self.page.policy,
        }


def _data(row: RecordRow) -> Mapping[str, Any]:
    return row.data if isinstance(row.data, Mapping) else {}


def differences(before: Any, now: Any, schema: Any = None) -> list[ReportedDifference]:
    """The outermost values that differ, with their paths; at most LINES_MAX."""
    if not (container(before) and container(now) and type(before) is type(now)):
        return (
            []
            if same(before, now)
            else [ReportedDifference(path="$", before=before, now=now, what="changed")]
        )
    return _walk(before, now, "$", Part.of(schema))[:LINES_MAX]


def _walk(before: Any, now: Any, path: str, part: Part) -> list[ReportedDifference]:
    result: list[ReportedDifference] = []
    for key, new, old in pairs_of(now, before, part):
        where = f"{path}.{key}"
        if old is MISSING:
            result.append(ReportedDifference(path=where, before=None, now=new, what="added"))
        elif new is MISSING:
            result.append(ReportedDifference(path=where, before=old, now=None, what="removed"))
        elif same(new, old):
            continue
        elif container(new) and container(old) and type(new) is type(old):
            result += _walk(old, new, where, part.under(key))
        else:
            result.append(ReportedDifference(path=where, before=old, now=new, what="changed"))
        if len(result) > LINES_MAX:
            break
    return result
