"""One thread: where it stands, its checkpoints, a state, what happened, what comes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries, store
from checkpoints.durabilities import HOT
from checkpoints.errors import ContentAway, NotFound
from checkpoints.queries.why import awaited_signals
from checkpoints.states import TAKES_INPUT, EventKind, Status
from checkpoints.views import (
    ActivityRow,
    AgentRow,
    CheckpointRow,
    EventRow,
    InputRow,
    Page,
    ReasonRow,
    SavedRow,
    SignalRow,
    StorageRow,
    ThreadRow,
)
from dashboard.documents.buffered import buffered_words
from dashboard.documents.state_reads import Read, read_step, unreadable
from dashboard.fields.message import message_field
from dashboard.fields.shapes import Kind
from dashboard.html import lineage
from dashboard.html.step_times import STATUS_KINDS, Times, times_of
from dashboard.identity.people import people
from dashboard.identity.permissions import allowed_actions, may
from dashboard.threads.page import errors
from dashboard.threads.page.abilities import abilities
from dashboard.threads.page.anatomy import anatomy_of
from dashboard.threads.page.anatomy_shape import Anatomy
from dashboard.threads.page.code_question import choices_for
from dashboard.threads.page.damage import damage_of
from dashboard.threads.page.effect_question import EffectQuestion, effect_question_of
from dashboard.threads.page.failure import KINDS, Failure, failure_of
from dashboard.threads.page.family import FamilyPage
from dashboard.threads.page.forks import forks_of
from dashboard.threads.page.memory import copy_of, inputs_in_memory
from dashboard.threads.page.outcome import UndoOutcome, outcome_of_undo, outcomes
from dashboard.threads.page.rights import Class, Roles, actions_of, rights_of
from dashboard.threads.page.value_places import ShownPlace, places_of
from dashboard.wire.progress import read_progress
from dashboard.wording import savings
from dashboard.wording.event_phrases import lost_steps
from dashboard.wording.model_settings import ConfigFact, config_facts
from dashboard.wording.text import number
from dashboard.wording.why import why_waiting

CHECKPOINTS = 200  # read for the plan and the graph
ROWS = 20  # of them shown, as segments of the bar of time and as rows of the lineage
EVENTS, ACTIVITIES = 20, 50  # files, outcomes, failures and messages are drawn from all fifty
TABS = ("changes", "state", "anatomy")
COMMITS = frozenset(
    {EventKind.CHECKPOINT_COMMITTED, EventKind.THREAD_STARTED, EventKind.THREAD_FORKED}
)
NOUNS = frozenset(kind.partition(".")[0] for kind in EventKind)


@dataclass
class ThreadPage:
    """The reads of one look at a thread, each done at most once; raises NotFound.

    `cp` names another checkpoint than the head by its number or id, `kind` a noun of events,
    `event` the one that is opened. Older rows are shown of those before the event `before`, the
    message `messages_before` and the save point `points_before`.
    """

    workspace: UUID
    id: UUID
    cp: str = ""
    kind: str = ""
    before: int | None = None
    event: int | None = None
    messages_before: int | None = None
    points_before: str = ""
    tab: str = "changes"
    _thread: ThreadRow | None = field(default=None, repr=False)

    read_rows, shown_rows, shown_events = CHECKPOINTS, ROWS, EVENTS
    topic = "thread"

    @cached_property
    def thread(self) -> ThreadRow:
        """Read before everything else: its number is never newer than what is shown."""
        return self._thread or queries.thread(self.id, workspace=self.workspace)

    @property
    def seq(self) -> int:
        """The number of the newest event when this look began."""
        return self.thread.last_seq

    @cached_property
    def mark(self) -> Any:
        """The mark that shows the hub whether the thread changed; read before the rest."""
        return queries.thread_mark(self.id)

    @cached_property
    def past(self) -> CheckpointRow | None:
        """The requested checkpoint, None for the head."""
        if not self.cp:
            return None
        # The thread first, so that a stranger's thread is unknown whatever is asked of it.
        owner = self.thread.id
        if self.cp.isdecimal() and len(self.cp) < 10:
            result = queries.checkpoint_by_number(owner, int(self.cp))
        else:
            try:
                result = queries.checkpoint(owner, UUID(self.cp))
            except ValueError:
                raise NotFound("There is no such checkpoint in this thread.") from None
        return None if result.id == self.thread.head else result

    @cached_property
    def rows(self) -> list[CheckpointRow]:
        """The newest checkpoints, those of the base included; around one that lies far back."""
        rows = queries.lineage(self.thread.id, limit=CHECKPOINTS)
        past = self.past
        if past is None or any(row.id == past.id for row in rows):
            return rows
        before = past.number + CHECKPOINTS // 2
        return list(queries.checkpoints(self.thread.id, limit=CHECKPOINTS, before=before).rows)

    @cached_property
    def tip(self) -> UUID:
        """The newest of `rows` on the way to the head: the head itself where it is among them."""
        return next((row.id for row in self.rows if not row.abandoned), self.thread.head)

    @cached_property
    def committed(self) -> EventRow | None:
        """The event that proves the checkpoint of the past; None at the head."""
        return queries.event_of_checkpoint(self.past.thread, self.past.id) if self.past else None

    @cached_property
    def times(self) -> dict[UUID, Times]:
        """The time each of `rows` was queued, worked and waited, by the newest events."""
        threads = list({row.thread for row in self.rows})
        return times_of(self.rows, queries.changes_of(threads, STATUS_KINDS))

    @cached_property
    def path(self) -> list[CheckpointRow]:
        """The way from the shown checkpoint back to the first."""
        return lineage.head_path(self.rows, self.past.id if self.past else self.thread.head)

    @cached_property
    def checkpoint(self) -> CheckpointRow | None:
        """The checkpoint whose state is shown; None where somebody deleted them all."""
        if self.past:
            return self.past
        head = next((row for row in self.rows if row.id == self.thread.head), None)
        if head is None and self.rows:
            # Somebody took the head away: what is left is shown, and the page says that it is.
            head = self.rows[0]
        return head

    @cached_property
    def missing(self) -> str:
        """The warning about a head that is missing, verified or not; empty if it is there."""
        if self.thread.is_ephemeral or any(row.id == self.thread.head for row in self.rows):
            return ""
        left = f"#{self.rows[0].number} is the newest that is left" if self.rows else "none is left"
        return f"Checkpoint #{self.thread.number}, the head of this thread, is missing: {left}."

    @cached_property
    def step(self) -> tuple[Read, Read]:
        """The state of the shown checkpoint's parent ({} for the first of all) and its own."""
        if self.thread.is_ephemeral:
            return Read({}), self.in_memory
        if self.checkpoint is None:
            return Read({}), unreadable(self.missing)
        # Older messages are no end of their list.
        return read_step(self.checkpoint, self.version, outlined=self.messages_before is None)

    @cached_property
    def in_memory(self) -> Read:
        """The state of an ephemeral thread while it lasts."""
        try:
            return Read(copy_of(self.thread).state)
        except (NotFound, ContentAway) as error:
            return unreadable(error.message)

    @property
    def before_state(self) -> Read:
        return self.step[0]

    @property
    def state(self) -> Read:
        return self.step[1]

    @cached_property
    def anatomy(self) -> Anatomy | None:
        """The records at the shown checkpoint; None on the other tabs."""
        if self.tab != "anatomy" or self.checkpoint is None:
            return None
        return anatomy_of(self.thread, self.checkpoint, self.state.with_files)

    @cached_property
    def places(self) -> list[ShownPlace]:
        """The place of each value of the shown state; none on the other tabs."""
        if self.anatomy is None or self.checkpoint is None or self.state.unread:
            return []
        hot_head = self.version.durability == HOT and not self.past
        return places_of(self.checkpoint, self.state.with_files, hot_head=hot_head)

    @property
    def passing(self) -> bool:
        """True if the next look may differ although nothing changed: a state was unreadable."""
        return any(one.unread is not None for one in vars(self).get("step", ()))

    @cached_property
    def version(self) -> AgentRow:
        return queries.agent_version(self.thread.agent_version_id)

    @cached_property
    def storage(self) -> StorageRow:
        return queries.storage(self.thread.id)

    @cached_property
    def saved(self) -> SavedRow:
        return queries.saved(self.thread)

    @cached_property
    def forks(self) -> list[ThreadRow]:
        return forks_of(self.thread.id)

    @cached_property
    def beside(self) -> FamilyPage:
        return FamilyPage(self.workspace, self.thread.id, self.thread)

    @cached_property
    def base_title(self) -> str:
        base = self.thread.base
        return queries.titles([base]).get(base, "") if base else ""

    @cached_property
    def events(self) -> Page[EventRow]:
        before = self.before
        if before is None and self.event is not None:
            before = self.event + 1  # the opened event stands on top
        elif before is None and self.committed is not None:
            before = self.committed.seq + 1  # what had happened by then
        kinds = errors.KINDS if self.kind == errors.WORD else (self.kind,)
        how: Any = {"kinds": kinds} if self.kind else {"folded": self.event is None}
        return queries.events(self.thread.id, before=before, limit=self.shown_events, **how)

    @cached_property
    def kinds(self) -> list[Kind]:
        """All, errors, then by noun: counted exactly in a short log, else in its newest events."""
        counted = queries.event_kinds(self.thread.id)
        nouns: dict[str, int | None] = {**errors.by_noun(counted)}
        about = ""
        if self.thread.last_seq > queries.COUNTED:
            about = f"among the newest {number(queries.COUNTED)} events"
            # What is not among them may stand further back.
            nouns |= dict.fromkeys(sorted(NOUNS - nouns.keys()), None)
        wrong = Kind(errors.WORD, errors.count(counted), self.kind == errors.WORD, about)
        return [Kind("", self.thread.last_seq, not self.kind), wrong] + [
            Kind(noun, n, noun == self.kind, about) for noun, n in nouns.items()
        ]

    @cached_property
    def activities(self) -> list[ActivityRow]:
        """The newest save points; at a checkpoint of the past those on the way to it."""
        if self.past:
            return queries.activities_until(self.thread.id, self.past.id, limit=ACTIVITIES)
        return queries.activities(self.thread.id, limit=ACTIVITIES)

    @property
    def has_outcome(self) -> bool:
        """Return whether the newest state of a thread that has succeeded is shown."""
        succeeded = self.thread.status is Status.SUCCEEDED
        return succeeded and not self.past and self.thread.erased is None

    @property
    def undo_outcome(self) -> UndoOutcome | None:
        """The outcome of the rollback that the newest state comes from; None of another state."""
        return None if self.past else outcome_of_undo(self.thread, self.checkpoint)

    @property
    def step_events(self) -> frozenset[int]:
        """Numbers of the shown events that led from the parent to the checkpoint of the past."""
        if self.committed is None:
            return frozenset()
        numbers = []
        for event in self.events.rows:
            if event.kind in COMMITS and event.seq < self.committed.seq:
                break
            if event.seq <= self.committed.seq:
                numbers.append(event.seq)
        return frozenset(numbers)

    @cached_property
    def failure(self) -> Failure | None:
        """The step at which it failed; None if it did not, and at a checkpoint of the past."""
        if self.thread.status != Status.FAILED or self.past:
            return None
        behind = self.thread.last_seq + 1
        events = queries.events(self.thread.id, kinds=KINDS, before=behind, limit=20).rows
        return failure_of(self.thread, events, self.activities)

    @cached_property
    def approvals(self) -> list[ApprovalRow]:
        return gates.for_thread(self.thread.id, open_only=True)

    @cached_property
    def why(self) -> ReasonRow | None:
        return why_waiting(self.thread, approvals=self.approvals)

    @cached_property
    def effect_question(self) -> EffectQuestion | None:
        return effect_question_of(self.thread)

    @cached_property
    def progress(self) -> dict[str, Any] | None:
        if self.thread.status != Status.RUNNING:
            return None
        return read_progress([self.thread.id]).get(self.thread.id)

    @cached_property
    def not_taken(self) -> tuple[list[InputRow], list[SignalRow]]:
        """Messages and signals not taken yet."""
        if self.thread.is_ephemeral:
            return inputs_in_memory(self.thread), []
        return queries.not_taken(self.id) if self.thread.wake_seq else ([], [])

    @cached_property
    def config(self) -> dict[str, Any]:
        return queries.config_of(self.thread.id)

    @cached_property
    def config_facts(self) -> list[ConfigFact]:
        """The configuration, flagged where a thread that started now would get another one."""
        if not self.config:
            return []
        now = queries.deployed_config(self.thread.agent, workspace=self.thread.workspace)
        return config_facts(self.config, now)

    @cached_property
    def buffered(self) -> str:
        """The steps that wait in the hot store, in words; empty of an agent that is not hot."""
        return buffered_words(self.thread)

    @cached_property
    def lost(self) -> list[tuple[str, queries.LostSteps]]:
        """Losses of the hot store in words, with the event that names each; newest first."""
        if self.version.durability != HOT:
            return []
        losses = queries.lost_steps(self.id, workspace=self.workspace)
        return [(lost_steps(one.data) if one.data else "Steps were lost", one) for one in losses]

    @cached_property
    def people(self) -> dict[str, str]:
        actors = [event.actor for event in self.events.rows]
        actors += [row.actor for rows in self.not_taken for row in rows]
        return people([self.thread.started_by, *actors])


def thread_head(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-head."""
    return {
        "thread": page.thread,
        # At a checkpoint of the past nothing acts but what acts on it; the note there offers that.
        "actions": [] if page.past else actions_of(roles, page.thread),
        "past": page.past,
        "rights": rights_of(roles),
    }


def thread_facts(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-facts."""
    return {
        "thread": page.thread,
        "abilities": abilities(page.thread),
        "config_facts": page.config_facts,
        "people": page.people,
        "base_title": page.base_title,
        "verification": page.thread.integrity,
        "storage": page.storage,
        "buffered": page.buffered,
        "lost": page.lost,
        "saved": savings.shown(page.saved),
        "spent": savings.dollars(page.thread.cost, queries.unpriced_calls(page.thread)),
        "rights": rights_of(roles),
    }


def thread_note(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-note."""
    return {
        "thread": page.thread,
        # Whom it waits for stands in a region that follows them.
        "why": None if page.why and page.why.kind == "children" else page.why,
        "thread_approvals": page.approvals,
        "effect_question": None if page.past else page.effect_question,
        "may_settle": allowed_actions(Class(roles), page.thread)["settle"],
        "rights": rights_of(roles),
        "failure": page.failure,
        "error_noted": page.failure is not None and page.failure.is_in(page.why),
        "outcomes": outcomes(page.activities) if page.has_outcome else [],
        "undo_outcome": page.undo_outcome,
        "code_choices": [] if page.past else choices_for(Class(roles), page.thread),
        "past": page.past,
    }


def thread_damage(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-damage."""
    return damage_of(page.thread) | {"missing": page.missing}


def thread_progress(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-progress."""
    report = page.progress or {}
    stream = "stream" in report
    return {
        "thread": page.thread,
        "progress": None if stream else page.progress,
        "stream": report if stream else None,
    }


def thread_input(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-input."""
    allowed = allowed_actions(Class(roles), page.thread)["input"]
    return {
        "thread": page.thread,
        "inputs": page.not_taken[0],
        "signals": page.not_taken[1],
        "input_field": message_field(page.version) if allowed.allowed and not page.past else None,
        "input_why": "" if page.past else allowed.why,
        "talks": "" if page.past else _conversation_name(page.thread, roles),
        "past": page.past,
        "people": page.people,
    }


def _conversation_name(thread: ThreadRow, roles: Roles) -> str:
    """The name under which people talk with a thread; empty where they can't."""
    takes = thread.is_ephemeral or thread.status in TAKES_INPUT
    hears = thread.message_channel or store.UTTERANCE in awaited_signals(thread)
    can = may(Class(roles), "input") and takes and hears and "/" not in thread.agent
    return (thread.name or str(thread.id)) if can and thread.erased is None else ""
