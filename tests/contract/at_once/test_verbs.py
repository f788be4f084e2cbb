"""Each two verbs on one thread, at the same moment: the outcome is that of one after the other.

The measure is the sequence: the same verbs in each order, on threads of the same making. They meet
in three ways: the second begins while the first is not committed, two at once, and two of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations_with_replacement, permutations
from typing import Any
from uuid import UUID

import pytest

from approvals import gates
from approvals import queries as requests
from approvals.rules.terms import Seat, Terms
from checkpoints import chain, queries, store
from checkpoints.errors import GatepostError
from checkpoints.records import NewActivity, Work
from checkpoints.states import EventKind
from dashboard.approvals.hand_over import HAND_OVER, HandOver
from dashboard.errors import ActionError
from dashboard.kit.shapes.requests import Nothing
from dashboard.records.erase import DECIDE_ERASURE, DecideErasure
from dashboard.records.legal_holds import HOLD, ChangeHold
from dashboard.threads.cancel import cancel
from dashboard.threads.edit import edit
from dashboard.threads.fork import fork
from dashboard.threads.pause import PAUSE, RESUME, Pause, Resume
from dashboard.threads.retry import RETRY
from dashboard.threads.roll_back import roll_back
from dashboard.threads.skip import SKIP, Skip
from tests.support import decisions
from tests.support.cast import Cast, make_cast
from tests.support.settled import settle as settle_effect
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

from . import in_turn, together
from .meeting import meet

Made = Callable[[], Any]
APPROVE = DecideErasure(verdict="approve")
REFUSE = DecideErasure(verdict="refuse", comment="no")


@dataclass(frozen=True)
class Subject:
    """A thread in some state, and the verbs that people and workers have for it by name."""

    thread: UUID
    verbs: dict[str, Made]


@dataclass
class Result:
    """The end of a thread's verbs: their answers, and all that is recorded of it."""

    answers: Counter[tuple[str, str]]
    record: list[Any] = field(default_factory=list)

    @property
    def key(self) -> str:
        return repr((sorted(self.answers.items()), self.record))


@pytest.fixture(scope="module")
def cast_(django_db_setup: None, django_db_blocker: Any) -> Any:
    from tests.conftest import real_database

    with django_db_blocker.unblock(), real_database("gatepost_verbs"):
        yield make_cast()


# ---- subjects ------------------------------------------------------------------------------------


def of_thread(cast: Cast, thread: UUID) -> dict[str, Made]:
    """What an operator can do to a thread in most states."""
    operator = cast.actor("operator")
    first = queries.checkpoint_by_number(thread, 0).id
    return {
        "fork": partial(fork, operator, thread, first),
        "roll back": partial(roll_back, operator, thread, first, "wrong data"),
        "cancel": partial(cancel, operator, thread, "no need"),
        "cancel and undo": partial(cancel, operator, thread, "no need", True),
        "edit": partial(edit, operator, thread, {"goal": "weather"}, "typo"),
        "pause": partial(PAUSE.run, operator, Pause(), thread),
        "resume": partial(RESUME.run, operator, Resume(), thread),
        "retry": partial(RETRY.run, operator, Nothing(), thread),
    }


def of_request(cast: Cast, request: requests.ApprovalRow) -> dict[str, Made]:
    """What reviewers and the sweep can do to a request."""

    def decide(name: str, verdict: str, **more: Any) -> Made:
        seen = request.standing_hash
        return partial(decisions.decide, cast.actor(name), request.id, verdict, seen, **more)

    manager, other = "manager", "second_manager"
    return {
        "approve": decide(manager, "approve"),
        "other approves": decide(other, "approve"),
        "other rejects": decide(other, "reject", comment="no"),
        "other edits": decide(other, "edit", args={"report": "s"}, comment="better"),
        "other asks": decide(other, "respond", comment="why?"),
        "take back": partial(decisions.take_back, cast.actor(manager), request.id),
        "hand over": partial(HAND_OVER.run, cast.actor(manager), HandOver(to=other), request.id),
        "expire": gates.expire_due,
        "settle": gates.settle_due,
    }


def waiting(cast: Cast, agent: UUID, names: Sequence[str], **more: Any) -> Subject:
    request = scene.waiting(cast.workspace, agent, **more)
    made = of_thread(cast, request.thread) | of_request(cast, request)
    return Subject(request.thread, {name: made[name] for name in names})


def decided(cast: Cast, agent: UUID, names: Sequence[str], window: float) -> Subject:
    """A request that the manager has approved, who can take that back for some time."""
    request = scene.waiting(cast.workspace, agent, terms=Terms(undo_window=window))
    decisions.decide(cast.actor("manager"), request.id, "approve", request.standing_hash)
    made = of_thread(cast, request.thread) | of_request(cast, request)
    return Subject(request.thread, {name: made[name] for name in names})


def idle(cast: Cast, thread: UUID, names: Sequence[str]) -> Subject:
    made = of_thread(cast, thread)
    return Subject(thread, {name: made[name] for name in names})


def ended(cast: Cast, agent: UUID) -> Subject:
    """A finished thread with an effect; its erasure is requested."""
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="draft")
    scene.effect(work)
    scene.step(work, report="two", leave_by=EventKind.THREAD_SUCCEEDED)
    thread, admin = work.thread, cast.actor("admin")
    about: dict[str, Any] = {
        "scope": "thread",
        "reason": "consent",
        "actor": "user:0",
        "name": "nobody",
    }
    erasure = store.request_erasure(thread, workspace=cast.workspace, **about).id
    made = of_thread(cast, thread)
    return Subject(
        thread,
        {
            "fork": made["fork"],
            "roll back": made["roll back"],
            "erase": partial(DECIDE_ERASURE.run, admin, APPROVE, erasure),
            "refuse to erase": partial(DECIDE_ERASURE.run, admin, REFUSE, erasure),
            "hold": partial(HOLD.run, admin, ChangeHold(reason="case 17"), thread),
        },
    )


def paused(cast: Cast, agent: UUID) -> Subject:
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="draft", leave_by=EventKind.THREAD_HANDED_BACK)
    PAUSE.run(cast.actor("operator"), Pause(), work.thread)
    return idle(cast, work.thread, ["resume", "edit", "roll back", "cancel", "fork"])


def failed(cast: Cast, agent: UUID) -> Subject:
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="half", leave_by=EventKind.THREAD_FAILED)
    subject = idle(cast, work.thread, ["retry", "edit", "roll back"])
    node = queries.thread(work.thread, workspace=cast.workspace).next_nodes[0]
    skip = partial(
        SKIP.run, cast.actor("operator"), Skip(node=node, reason="not needed"), work.thread
    )
    return replace(subject, verbs={**subject.verbs, "skip": skip})


def asking(cast: Cast, agent: UUID) -> Subject:
    """A thread that asks whether an effect happened."""
    thread, effect = scene.asking(cast.workspace, agent)
    subject = idle(cast, thread, ["retry", "roll back", "cancel", "cancel and undo"])
    settle = partial(settle_effect, cast.actor("operator"), thread, effect)
    answers = {verdict: partial(settle, verdict) for verdict in ("happened", "not_happened")}
    return replace(subject, verbs={**subject.verbs, **answers})


def running(cast: Cast, agent: UUID) -> Subject:
    """A thread with a worker that has begun an effect."""
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="draft")
    effect = scene.effect(work, done=False)
    made: NewActivity = store.effect_as_written(work.thread, effect)[0]  # type: ignore[index]

    def by_worker(act: Callable[[Work], Any]) -> Made:
        return lambda: act(replace(work))

    names = ["fork", "roll back", "cancel", "cancel and undo", "edit", "pause"]
    subject = idle(cast, work.thread, names)
    finish = by_worker(
        lambda own: store.finish_activity(own, made, state="done", result={"path": "p"})
    )
    commit = by_worker(
        lambda own: scene.step(own, nodes=("publish",), next_nodes=(), report="two") and None
    )
    park = by_worker(lambda own: store.leave(own, EventKind.THREAD_FAILED, reason="broken"))
    by = {"finish": finish, "commit": commit, "fail": park}
    return replace(subject, verbs={**subject.verbs, **by})


TWO = Terms(stages=(Seat(count=2),), undo_window=3600)
OPEN = ["approve", "other rejects", "other edits", "other asks", "hand over"]
SWEEPS = {"expire", "settle"}
ROUND = ["fork", "roll back", "cancel", "edit"]
SUBJECTS: dict[str, Callable[[Cast, UUID], Subject]] = {
    "open": partial(waiting, names=[*OPEN, *ROUND, "pause", "expire"]),
    "open for an hour": partial(
        waiting, names=[*OPEN, "take back", "roll back"], terms=Terms(undo_window=3600)
    ),
    "two votes": partial(
        waiting, names=["approve", "other approves", *OPEN[1:], "take back", "edit"], terms=TWO
    ),
    "past its deadline": partial(
        waiting, names=["approve", "hand over", "expire", "roll back", "cancel"], expires_in=0
    ),
    "rejected at its deadline": partial(
        waiting,
        names=["approve", "hand over", "expire", "roll back"],
        expires_in=0,
        terms=Terms(on_expiry="reject"),
    ),
    "put to others at its deadline": partial(
        waiting,
        names=["approve", "other approves", "expire", "cancel"],
        expires_in=0,
        terms=Terms(on_expiry="escalate", escalate_for=3600),
    ),
    "decided": partial(
        decided, names=["take back", "other rejects", "settle", *ROUND], window=3600
    ),
    "decided for good": partial(
        decided, names=["take back", "other rejects", "settle", "roll back"], window=0.001
    ),
    "ended": ended,
    "paused": paused,
    "failed": failed,
    "asking": asking,
    "running": running,
}


# ---- what they come to ---------------------------------------------------------------------------


def answer(call: Made) -> str:
    """The name of the error of a verb; "" for any other answer."""
    try:
        call()
    except (ActionError, GatepostError) as error:
        return type(error).__name__
    return ""


def record_of(thread: UUID) -> list[Any]:
    """The thread's row, its log and all that is recorded of it, without ids and times."""
    kinds = "SELECT kind FROM gp_event WHERE thread_id = %s ORDER BY seq"
    return [
        rows("SELECT status, wish, number, branch FROM gp_thread WHERE id = %s", (thread,)),
        [kind for (kind,) in rows(kinds, (thread,))],
        rows(
            "SELECT source, step FROM gp_checkpoint WHERE thread_id = %s ORDER BY number", (thread,)
        ),
        rows("SELECT state, attempts FROM gp_activity WHERE thread_id = %s", (thread,)),
        rows(
            "SELECT status, outcome, decided_by <> '', standing_hash = '' FROM gp_approval "
            "WHERE thread_id = %s",
            (thread,),
        ),
        rows(
            "SELECT d.verdict, d.reviewer FROM gp_decision d JOIN gp_approval a "
            "ON a.id = d.approval_id WHERE a.thread_id = %s ORDER BY d.at",
            (thread,),
        ),
        rows(
            "SELECT count(*) FROM gp_deputy d JOIN gp_approval a ON a.id = d.approval_id "
            "WHERE a.thread_id = %s",
            (thread,),
        ),
        rows("SELECT status, erasure IS NULL FROM gp_thread WHERE base = %s", (thread,)),
        rows("SELECT count(*) FROM gp_hold WHERE thread_id = %s", (thread,)),
        rows("SELECT state FROM gp_erasure WHERE thread_id = %s", (thread,)),
        rows(
            "SELECT kind, count(*) FROM gp_outbox WHERE thread_id = %s GROUP BY 1 ORDER BY 1",
            (thread,),
        ),
    ]


def result_of(subject: Subject, names: Sequence[str], answers: Sequence[str]) -> Result:
    if not SWEEPS.isdisjoint(names):
        # The sweep passes over what somebody holds at that moment; it comes again.
        gates.expire_due(), gates.settle_due()
    report = chain.verify_thread(subject.thread)
    assert report.intact, (names, answers, report.what)
    return Result(Counter(zip(names, answers, strict=True)), record_of(subject.thread))


def sent(make: Callable[[], Subject], names: Sequence[str], sender: Any) -> Result:
    subject = make()
    return result_of(subject, names, sender([partial(answer, subject.verbs[n]) for n in names]))


def swept(calls: Sequence[Made], before: int) -> list[Any]:
    """Each call in turn, with a pass of the sweep before one of them.

    What decides past a deadline applies that deadline first, in a transaction of its own, as the
    sweep does; others may come between the two.
    """
    return [
        (gates.expire_due() if at == before else None, call())[1] for at, call in enumerate(calls)
    ]


def met(make: Callable[[], Subject], first: str, second: str) -> Result | None:
    """The second verb while the first one is made and not committed; None: the first is refused."""
    subject = make()
    came = meet(subject.verbs[first], subject.verbs[second])
    if came.first is not None:
        return None
    errors = (came.first, came.second)
    assert all(error is None or isinstance(error, ActionError | GatepostError) for error in errors)
    answers = ["" if error is None else type(error).__name__ for error in errors]
    return result_of(subject, (first, second), answers)


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS)
def test_verbs_at_once_come_to_what_they_come_to_in_turn(cast_: Cast, subject: str) -> None:
    agent = scene.make_agent()
    make = partial(SUBJECTS[subject], cast_, agent)
    taken = 0
    made = make().verbs
    for one, other in combinations_with_replacement(made, 2):
        for n in (2, 4):
            names = (one, other) * (n // 2)
            in_order = {
                order: sent(make, order, in_turn) for order in sorted(set(permutations(names)))
            }
            allowed = {result.key for result in in_order.values()}
            if "expire" in made:
                allowed |= {
                    sent(make, order, partial(swept, before=at)).key
                    for order in in_order
                    for at in range(n)
                }
            results = [sent(make, names, together)]
            if n == 2:
                results += [came for pair in in_order if (came := met(make, *pair)) is not None]
            for result in results:
                assert result.key in allowed, (names, result, in_order)
                taken += sum(n for (_, error), n in result.answers.items() if not error)
    assert taken, "no verb was taken"
