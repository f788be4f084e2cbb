"""Seeded runs that do the same up to a planted difference, as logs in memory or in the database."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

from checkpoints import store
from checkpoints.queries.compared.steps import LoggedEvent, LoggedStep
from checkpoints.records import NewActivity, Position
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from tests.unit.checkpoints.builders import Driver, drive, make_thread

NODES = ("plan", "search", "weigh", "answer")
PLANTED = ("result", "args", "model", "thought", "extra", "missing", "delta", "way")


@dataclass(frozen=True)
class Call:
    """A call of a step: its key, what it was called with and answered."""

    key: str
    args: Any
    result: Any
    kind: str = "activity"


@dataclass(frozen=True)
class Step:
    """What a step does; `following` are its next nodes."""

    node: str
    calls: tuple[Call, ...]
    thought: str
    following: str
    change: int


@dataclass
class Script:
    """A run's steps; `expected` says what is the first thing that differs, empty for nothing."""

    steps: list[Step]
    slot: int = -1
    expected: tuple[str, str] = ("", "")
    keys: tuple[str, ...] = field(default=())


def script_of(seed: int, n_steps: int) -> Script:
    """A run of so many steps; equal seeds give equal runs."""
    random = Random(seed)
    steps = []
    for n in range(n_steps):
        calls = [
            Call(f"look#{i}", {"q": f"{n}-{i}"}, {"price": random.randint(1, 10**6)})
            for i in range(random.randint(1, 3))
        ]
        calls.append(Call("chat#0", {"prompt": f"{n}"}, {"text": f"{random.random()}"}, "model"))
        steps.append(
            Step(
                node=NODES[n % len(NODES)],
                calls=tuple(calls),
                thought=f"Thought {random.random()}",
                following=NODES[(n + 1) % len(NODES)],
                change=random.randint(1, 10**6),
            )
        )
    return Script(steps)


def planted(script: Script, seed: int, slot: int, kind: str) -> Script:
    """The same run up to step `slot`, which differs in one thing; all after it is different."""
    random = Random(seed)
    step = script.steps[slot]
    calls = list(step.calls)
    if kind == "result":
        calls[0] = replace(calls[0], result={"price": -1})
        made, expected = replace(step, calls=tuple(calls)), ("activity.finished", calls[0].key)
    elif kind == "args":
        calls[0] = replace(calls[0], args={"q": "other"})
        made, expected = replace(step, calls=tuple(calls)), ("activity.finished", calls[0].key)
    elif kind == "model":
        calls[-1] = replace(calls[-1], result={"text": "other"})
        made, expected = replace(step, calls=tuple(calls)), ("model.answered", "chat#0")
    elif kind == "extra":
        calls.insert(0, Call("mail#0", {"to": "x"}, {"sent": True}))
        made, expected = replace(step, calls=tuple(calls)), ("activity.finished", "mail#0")
    elif kind == "missing":
        made = replace(step, calls=tuple(calls[:-1]))
        expected = ("model.answered", "chat#0")
    elif kind == "thought":
        made, expected = replace(step, thought="Something else"), ("thought.recorded", "")
    elif kind == "delta":
        made, expected = replace(step, change=-1), ("checkpoint.committed", "")
    else:
        made, expected = replace(step, following="elsewhere"), ("checkpoint.committed", "")
    rest = script_of(random.randint(10**6, 10**7), len(script.steps)).steps[slot + 1 :]
    return Script([*script.steps[:slot], made, *rest], slot, expected)


def noisy(value: Any, random: Random) -> Any:
    """An answer with what differs from run to run: ids, times and hashes, as they are named."""
    now = datetime.now(UTC) + timedelta(seconds=random.randint(0, 10**6))
    return {
        **value,
        "request_id": str(uuid4()),
        "fetched_at": now.isoformat(),
        "etag": f"{random.getrandbits(128):032x}",
    }


def logged(script: Script, noise: int) -> list[LoggedStep]:
    """The run as the reader of the log would give it; ids, times, order and attempts by `noise`."""
    random = Random(noise)
    thread, seq = uuid4(), 0
    results = []
    for n, step in enumerate(script.steps):
        events = []
        calls = list(step.calls)
        random.shuffle(calls)
        for call in calls:
            tries = [False] * random.randint(0, 1) + [True]
            for done in tries:
                seq += random.randint(1, 3)
                events.append(_event(call, step, n + 1, seq, random, done=done))
        seq += 1
        data = {"node": step.node, "text": step.thought, "step": n + 1, "branch": 0}
        events.append(LoggedEvent(seq, "thought.recorded", data))
        seq += 1
        results.append(
            LoggedStep(
                thread=thread,
                number=n + 1,
                step=n + 1,
                branch=0,
                source="step",
                nodes=(step.node,),
                next_nodes=(step.following,),
                delta={"set": {"n": step.change}},
                seq=seq,
                events=tuple(events),
            )
        )
    return results


def _event(
    call: Call, step: Step, number: int, seq: int, random: Random, *, done: bool
) -> LoggedEvent:
    noun = ("model.answered", "model.failed") if call.kind == "model" else (
        "activity.finished", "activity.failed"
    )  # fmt: skip
    data = {
        "activity": str(uuid4()),
        "node": step.node,
        "key": call.key,
        "step": number,
        "branch": 0,
        "seal": f"{random.getrandbits(256):064x}",
        "attempt": random.randint(1, 3),
    }
    return LoggedEvent(
        seq,
        noun[0] if done else noun[1],
        data,
        call.kind,
        0,
        "done" if done else "failed",
        "" if done else "timed out",
        call.args,
        noisy(call.result, random) if done else None,
    )


def played(script: Script, noise: int, *, workspace: UUID, agent: UUID) -> UUID:
    """The run in the database: each step a commit, its calls one statement; the thread."""
    random = Random(noise)
    driver = drive(make_thread(workspace=workspace, agent=agent))
    for step in script.steps:
        play(driver, step, random)
    return driver.work.thread


def play(driver: Driver, step: Step, random: Random) -> None:
    """Commit one step as a worker would."""
    work = driver.work
    calls = list(step.calls)
    random.shuffle(calls)
    store.record_activities(
        work,
        [
            (
                NewActivity(
                    id=uuid4(),
                    position=Position(work.branch, work.step + 1, step.node, 0, call.key),
                    kind=call.kind,
                    tool=call.key.partition("#")[0],
                    args=call.args,
                    idempotency_key=uuid4().hex,
                ),
                {"result": noisy(call.result, random)},
            )
            for call in calls
        ],
    )
    thought = {"node": step.node, "text": step.thought, "step": work.step + 1, "branch": 0}
    checkpoint = driver.next_checkpoint(
        {"set": {"goal": str(step.change)}}, nodes=(step.node,), next_nodes=(step.following,)
    )
    store.commit_step(
        work, checkpoint, before=[NewEvent(EventKind.THOUGHT_RECORDED, thought, "worker:1")]
    )
