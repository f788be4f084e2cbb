"""Explain why a thread does not continue: the page's explanation, facts, remedies."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from approvals.queries import ApprovalRow
from approvals.rules.verdicts import GATES
from checkpoints import queries
from checkpoints.states import FINISHED, Status
from checkpoints.views import EventRow, ReasonRow, ThreadRow, WorkerRow
from dashboard.identity.permissions import Actor, allowed_actions
from dashboard.threads.answers import thread_detail
from dashboard.threads.page.code_question import WORDS, open_choices
from dashboard.threads.page.effect_question import effect_question_of
from gatepost_command import COMMAND, START

START_WORKER = START


class OpenRequest(BaseModel):
    """A request that somebody can decide, until `decide_by`; `deadline` is as it was asked for."""

    id: UUID
    title: str
    headline: str
    kind: str
    risk: str
    deadline: datetime | None
    decide_by: datetime | None


class Facts(BaseModel):
    """The facts behind an explanation; durations in seconds."""

    agent: str
    version: str
    fingerprint: str
    queue: str
    before_in_queue: int | None
    turns_of_others: int | None
    waits_seconds: float
    lease_owner: str
    lease_until: datetime | None
    lease_expired: bool
    fence: int
    crash_count: int
    wish: str
    pause_at: str
    wake_at: datetime | None
    wake_seq: int
    next_nodes: list[str]
    workers: int
    workers_with_code: int
    workers_of_queue: int
    workers_with_both: int
    approvals: list[OpenRequest]
    last_event: EventRow | None


class Remedy(BaseModel):
    """A possible action, and the command that performs it."""

    sentence: str
    command: str


class Standstill(BaseModel):
    """A thread, why it stands where it stands, the facts, and what can be done."""

    thread: UUID
    title: str
    status: str
    why_waiting: ReasonRow
    facts: Facts
    remedies: list[Remedy]


def standstill(actor: Actor, thread_id: UUID) -> Standstill:
    """Explain one thread to one person; raises NotFound."""
    row, payload, open_ones = thread_detail(actor, thread_id)
    alive = [worker for worker in queries.workers() if worker.alive]
    facts = _facts(row, open_ones, alive)
    return Standstill(
        thread=row.id,
        title=row.title,
        status=str(row.status),
        why_waiting=payload.why_waiting,
        facts=facts,
        remedies=list(_remedies(actor, row, payload.why_waiting.kind, facts)),
    )


def _facts(row: ThreadRow, open_ones: list[ApprovalRow], alive: list[WorkerRow]) -> Facts:
    version = queries.agent_version(row.agent_version_id)
    status, position = queries.status_facts(row.id), queries.queue_position(row)
    with_code = {w.id for w in alive if str(version.id) in w.agents}
    of_queue = {w.id for w in alive if status.queue in w.queues}
    newest = queries.events(row.id, limit=1).rows
    return Facts(
        agent=row.agent,
        version=row.version_label,
        fingerprint=version.fingerprint,
        queue=status.queue,
        before_in_queue=position.before if position else None,
        turns_of_others=position.turns if position else None,
        waits_seconds=round(status.seconds, 3),
        lease_owner=row.lease_owner,
        lease_until=row.lease_until,
        lease_expired=status.lease_expired,
        fence=row.fence,
        crash_count=row.crash_count,
        wish=row.wish,
        pause_at=row.pause_at,
        wake_at=row.wake_at,
        wake_seq=status.wake_seq,
        next_nodes=list(row.next_nodes),
        workers=len(alive),
        workers_with_code=len(with_code),
        workers_of_queue=len(of_queue),
        workers_with_both=len(with_code & of_queue),
        approvals=[OpenRequest.model_validate(a, from_attributes=True) for a in open_ones],
        last_event=newest[0] if newest else None,
    )


def _remedies(actor: Actor, row: ThreadRow, kind: str, facts: Facts) -> Iterator[Remedy]:
    """List actions that help, likeliest first, among those that the person may perform."""
    for request in facts.approvals:
        yield from _decide(request)
    if row.status in (Status.QUEUED, Status.RUNNING, Status.SLEEPING, Status.ROLLING_BACK):
        yield from _workers(kind, facts)
    if kind == "working":
        yield _remedy("Watch while it works.", f"threads events {row.id} --follow")
    if row.status is Status.ATTENTION or row.status is Status.FAILED:
        begin = max(0, row.last_seq - 20)
        yield _remedy("See what happened last.", f"threads events {row.id} --after {begin}")
    for choice in open_choices(row):
        word, about = WORDS[choice]
        yield _remedy(f"{word}. {about}", f"threads code {row.id} {choice}")
    may = {name: allowance.allowed for name, allowance in allowed_actions(actor, row).items()}
    if may["settle"]:
        yield from _settle(row)
    if may["resume"]:
        yield _remedy("Let it continue.", f"threads resume {row.id}")
    if may["retry"]:
        yield _remedy("Try again from its head.", f"threads retry {row.id}")
    if row.status in (Status.PAUSED, Status.ATTENTION, Status.FAILED):
        edit = f"threads edit {row.id} --set CHANNEL=VALUE --reason WHY"
        yield _remedy("Correct its state first.", edit)
        if row.number:
            back = f"threads rollback {row.id} {row.number - 1} --preview"
            yield _remedy("Go back a checkpoint; this shows the plan.", back)
    if row.status in FINISHED:
        yield _remedy("Continue from its past in a new thread.", f"threads fork {row.id}")


def _decide(request: OpenRequest) -> Iterator[Remedy]:
    yield _remedy(f"Look at the request: {request.headline}", f"approve {request.id}")
    if request.kind in GATES:
        yield _remedy("Say yes.", f"approve {request.id} --verdict approve")
    else:
        yield _remedy("Answer it.", f"approve {request.id} --verdict respond --args JSON")
    yield _remedy("Say no.", f"approve {request.id} --verdict reject --comment WHY")


def _settle(row: ThreadRow) -> Iterator[Remedy]:
    request = effect_question_of(row)
    for choice in request.choices if request else ():
        word = str(choice.verdict).replace("_", "-")
        yield _remedy(f"{choice.label}. {choice.help}", f"threads settle {row.id} {word}")


def _workers(kind: str, facts: Facts) -> Iterator[Remedy]:
    if not facts.workers:
        yield Remedy(sentence="Start a worker.", command=START_WORKER)
    elif not facts.workers_with_code:
        yield _remedy("See which code the workers have.", f"agent show {facts.agent}")
    elif not facts.workers_of_queue:
        serve = f"python -m workers --queues {facts.queue}"
        yield Remedy(sentence=f"Start a worker that serves the queue {facts.queue}.", command=serve)
    elif kind == "queue":
        yield _remedy("See whether the workers are well.", "doctor")
        yield Remedy(sentence="Give it more slots.", command=f"{COMMAND} up --workers 4")


def _remedy(sentence: str, command: str) -> Remedy:
    return Remedy(sentence=sentence, command=f"{COMMAND} {command}")
