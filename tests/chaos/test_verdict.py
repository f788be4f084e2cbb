"""The verdict finds what is wrong: each thing that must not be, done once to a sound record."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from . import tasks, verdict
from .sizes import MINUTES, THREADS, Faults, Size
from .verdict import Judge, Thread

BANK = "http://bank/"


def sound(task: int) -> tuple[Thread, list[dict[str, Any]], list[dict[str, Any]]]:
    """(a thread that ended right, what the bank wrote, what was acknowledged)."""
    keys = {what: f"key-{task}-{what}" for what in tasks.calls(task)}
    state = tasks.right_state(task, BANK, keys)
    kinds = ["thread.started", "lease.acquired", "checkpoint.committed", "approval.decided"]
    said: dict[str, dict[str, Any]] = {
        "checkpoint.committed": {"checkpoint": f"c{task}"},
        "approval.decided": {"approval": f"a{task}", "outcome": tasks.verdict(task)},
    }
    events = [(n, kind, said.get(kind, {}), float(n)) for n, kind in enumerate(kinds, 1)]
    events.append((5, "thread.succeeded", {}, 5.0))
    thread = Thread(
        f"t{task}", "succeeded", 5, f"c{task}", state, tasks.STEPS, [f"c{task}"], events,
        [("tool", key, 1, None, "done") for key in keys.values()],
    )  # fmt: skip
    bank = [
        {"key": key, "task": task, "what": what, "amount": tasks.amount(task), "came": came}
        for what, key in keys.items() for came in ("done", "again")
    ]  # fmt: skip
    acks = [
        {"command": "start", "thread": thread.id, "task": task},
        {"command": "decide", "thread": thread.id, "approval": f"a{task}",
         "verdict": tasks.verdict(task)},
    ]  # fmt: skip
    return thread, bank, acks


def judge(*numbers: int) -> Judge:
    made = [sound(task) for task in numbers]
    return Judge(
        {t.id: t for t, _, _ in made},
        [call for _, bank, _ in made for call in bank],
        [line for _, _, acks in made for line in acks],
    )


def findings(found: Judge) -> dict[str, list[Any]]:
    return {
        "ends": found.ended_wrong(), "doubled": found.doubled(), "keys": found.several_keys(),
        "unrecorded": found.unrecorded(), "lost": found.lost(), "gaps": found.gaps(),
        "twice": found.said_twice(), "failed": found.failed(), "started": found.started_twice(),
        "silent": [s for s in found.silences() if s[0] > verdict.SILENCE_SECONDS],
    }  # fmt: skip


@pytest.mark.requirement("A07")
def test_a_sound_record_is_found_sound() -> None:
    found = judge(1, 7, 17, 20)  # two of them are rejected
    assert {tasks.verdict(n) for n in (1, 7)} == {"approve", "reject"}
    assert not any(findings(found).values()), findings(found)


def change_state(j: Judge) -> None:
    j.threads["t1"].state["sums"] = [0] * tasks.TURNS


def fail(j: Judge) -> None:
    j.threads["t1"].status = "failed"


def lose_an_effect(j: Judge) -> None:
    j.threads["t1"].effects.pop()


def one_step_more(j: Judge) -> None:
    j.threads["t1"].steps += 1


def pay_twice(j: Judge) -> None:
    j.bank.append({**next(c for c in j.bank if c["came"] == "done" and c["task"] == 1)})


def pay_with_two_keys(j: Judge) -> None:
    j.bank.append({**j.bank[0], "key": "another", "came": "done"})


def another_body(j: Judge) -> None:
    j.bank.append({**j.bank[0], "amount": 1, "came": "other"})


def pay_what_was_rejected(j: Judge) -> None:
    j.bank.append({**j.bank[0], "task": 7, "what": "pay", "key": "odd", "came": "done"})


def lose_a_decision(j: Judge) -> None:
    j.threads["t1"].events[3] = (4, "approval.decided", {"approval": "a1", "outcome": "x"}, 4.0)


def lose_a_start(j: Judge) -> None:
    j.acknowledged.append({"command": "start", "thread": "nowhere", "task": 99})


def lose_a_pause(j: Judge) -> None:
    j.acknowledged.append({"command": "pause", "thread": "t1"})


def gap(j: Judge) -> None:
    del j.threads["t1"].events[2]


def twice(j: Judge) -> None:
    t = j.threads["t1"]
    t.events.insert(3, (4, "checkpoint.committed", {"checkpoint": "c1"}, 3.5))


def fail_a_step(j: Judge) -> None:
    j.threads["t1"].events[1] = (2, "step.failed", {"error": "OperationalError"}, 2.0)


def start_twice(j: Judge) -> None:
    thread, _, _ = sound(1)
    thread.id = "other"
    j.threads["other"] = thread


def fall_silent(j: Judge) -> None:
    events = j.threads["t1"].events
    events[2:] = [(n, kind, data, when + 21) for n, kind, data, when in events[2:]]


@pytest.mark.requirement("A07")
@pytest.mark.parametrize(
    ("harm", "finds"),
    [
        (change_state, {"ends"}),
        (fail, {"ends"}),
        (one_step_more, {"ends"}),
        (lose_an_effect, {"ends", "unrecorded"}),
        (pay_twice, {"ends", "doubled"}),
        (pay_with_two_keys, {"ends", "keys", "unrecorded"}),
        (another_body, {"doubled", "ends"}),
        (pay_what_was_rejected, {"ends", "unrecorded"}),
        (lose_a_decision, {"lost"}),
        (lose_a_start, {"lost"}),
        (lose_a_pause, {"lost"}),
        (gap, {"gaps"}),
        (twice, {"gaps", "twice"}),
        (fail_a_step, {"failed"}),
        (start_twice, {"started", "twice"}),
        (fall_silent, {"silent"}),
    ],
)
def test_harm_is_found(harm: Callable[[Judge], None], finds: set[str]) -> None:
    found = judge(1, 7)
    harm(found)
    again = Judge(found.threads, found.bank, found.acknowledged)
    assert {name for name, wrong in findings(again).items() if wrong} == finds


def test_waiting_is_no_silence() -> None:
    found = judge(1)
    events = found.threads["t1"].events
    events[2] = (3, "thread.suspended", {}, 3.0)
    events[3:] = [(n, kind, data, when + 1000) for n, kind, data, when in events[3:]]
    assert findings(found)["silent"] == []


# --- the line -------------------------------------------------------------------------------------


def line(folder: Path, monkeypatch: pytest.MonkeyPatch, n: int, plan: Faults, **more: Any) -> Any:
    """The JSON line on a sound record of `n` threads; `more` changes what the driver told."""
    made = judge(*range(n))
    monkeypatch.setattr(verdict, "read", lambda _: made.threads)
    monkeypatch.setattr(verdict, "of_approvals", lambda _: more.get("approvals", []))
    monkeypatch.setattr(verdict, "still_running", lambda _: more.get("running", []))
    strikes = [{"kind": kind, "running": 1} for kind in plan.shuffled(1)]
    for name, rows in (
        ("bank", made.bank),
        ("acks", made.acknowledged),
        ("strikes", strikes[: more.get("hits", len(strikes))]),
    ):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = {
        "threads": n, "seed": 1, "seconds": 1, "verified": "v", "trouble": "", "gave_up": 0,
        "plan": asdict(plan), "missed": 0, "answers": {},
        "broken": [], **more,
    }  # fmt: skip
    return verdict.judged(folder, "", told)


def test_a_small_one_is_ok_and_does_not_stand_for_the_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = line(tmp_path, monkeypatch, 30, Faults().scaled(0.03))
    assert (found["ok"], found["row"], found["value"]) == (True, None, 100.0)
    assert json.loads(json.dumps(found)) == found


def test_the_whole_stands_for_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = line(tmp_path, monkeypatch, THREADS, Faults())
    assert (found["ok"], found["row"]) == (True, "A07")
    short = line(tmp_path, monkeypatch, THREADS, Faults(), hits=190)
    assert (short["ok"], short["row"]) == (False, None)
    assert "kills" in short["short_of"]


@pytest.mark.parametrize(
    "more",
    [
        {"broken": ["thread x: event 3"]},
        {"trouble": "TimeoutError"},
        {"running": ["t"]},
        {"approvals": ["a"]},
        {"threads": 31},
    ],
)
def test_anything_else_that_is_wrong_makes_it_not_ok(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    assert line(tmp_path, monkeypatch, 30, Faults().scaled(0.03), **more)["ok"] is False


def test_sizes() -> None:
    whole = Size.of()
    faults = whole.faults
    assert whole.threads == THREADS == 1000
    assert faults.kill_slot + faults.kill_worker >= 200
    assert faults.stop_worker >= 20
    assert min(faults.kill_valkey, faults.flush_valkey) >= 5
    assert faults.postgres_fast + faults.postgres_immediate >= 5
    small = Size.of(minutes=2)
    assert small.threads == round(THREADS * 2 / MINUTES)
    assert min(asdict(small.faults).values()) >= 1
    assert Size.of(threads=100).faults.kill_slot == faults.kill_slot / 10
    assert faults.shuffled(3) == faults.shuffled(3) != faults.shuffled(4)
