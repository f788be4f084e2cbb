"""The bench of wasted work: what it draws, what it counts, and a small one on the real engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import wasted_work
from benchmarks.charging import KINDS, Charging, Fault, price

from .test_budgets import FORM

ROOT = Path(__file__).resolve().parents[2]


def test_faults_are_drawn_uniformly_and_alike_for_a_seed() -> None:
    shares, steps, kinds = [], Counter[int](), Counter[str]()
    for seed in range(300):
        faults = wasted_work.drawn(seed, 20, 100)
        assert faults == wasted_work.drawn(seed, 20, 100)
        shares.append(len(faults) / 100)
        steps.update(fault.step for fault in faults.values())
        kinds.update(fault.kind for fault in faults.values())
    assert wasted_work.SHARE[0] <= min(shares) < 0.17
    assert 0.28 < max(shares) <= wasted_work.SHARE[1]
    assert set(steps) == set(range(1, 21))
    assert max(steps.values()) < 1.5 * min(steps.values())
    assert set(kinds) == set(KINDS)


def test_a_fault_is_met_once_and_what_was_done_is_charged() -> None:
    met: list[tuple[str, Fault]] = []
    server = Charging(lambda course, fault: met.append((course, fault)))
    server.plan({"resume/t": Fault(2, "429")})

    def ask(what: str, step: int) -> int:
        asked = {"what": what, "course": "resume/t", "step": step, "pid": 0}
        return server.answer(asked)[0]

    answers = [ask(what, step) for step in (1, 2, 2) for what in ("fetch", "model")]
    assert answers == [200, 200, 200, 429, 200, 200]
    assert met == [("resume/t", Fault(2, "429"))]
    assert server.calls["resume/t"] == 6
    # A refusal costs no tokens, and fetching never does.
    assert server.tokens["resume/t"] == sum(price("t", 1)) + sum(price("t", 2))


class Counted(wasted_work.Field):
    """What came of it, without having worked."""

    def __init__(self, resumed: int, restarted: int) -> None:
        server = Charging(lambda *_: None)
        super().__init__(server, 20, 2, {"20x0": Fault(10, "503")})
        self.met.update({"resume 503": 1, "restart 503": 1})
        for name, course in self.courses.items():
            server.calls[name] = 40
            server.tokens[name] = sum(sum(price(course.task, s)) for s in range(1, 21))
        for arm, wasted in (("resume", resumed), ("restart", restarted)):
            server.calls[f"{arm}/20x0"] += wasted
            server.tokens[f"{arm}/20x0"] += 100 * wasted


@pytest.mark.parametrize(
    ("resumed", "restarted", "value", "ok"),
    [(1, 20, 95.0, True), (8, 20, 60.0, True), (9, 20, 55.0, False), (0, 0, 0.0, False)],
)
def test_ok_follows_from_the_waste(resumed: int, restarted: int, value: float, ok: bool) -> None:
    faults = {"20x0": Fault(10, "503")}
    found = wasted_work.line(20, Counted(resumed, restarted), faults, 7)
    assert (found["value"], found["ok"]) == (pytest.approx(value), ok)
    assert found["article"] == 82
    unmet = Counted(resumed, restarted)
    unmet.met.clear()
    assert wasted_work.line(20, unmet, faults, 7)["ok"] is False


@pytest.mark.hazard
@pytest.mark.requirement("A36")
@pytest.mark.requirement("B05")
def test_a_small_one_on_real_workers() -> None:
    """The seed draws each kind of fault, and a kill late in its task."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.wasted_work", "--seed", "148"),
            *("--scale", "0.1", "--lengths", "5,20"),
        ],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith(("GATEPOST_", "DJANGO_"))},
        capture_output=True,
        text=True,
        timeout=280,
    )
    lines: list[dict[str, Any]] = [json.loads(text) for text in done.stdout.splitlines()]
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    for line in lines:
        assert tuple(key for key in FORM if key in line) == FORM
        assert (line["seed"], line["ok"]) == (148, True)
    five, twenty, said = lines
    assert (five["row"], twenty["row"], said["row"]) == ("B05", "B05", "A36")
    assert twenty["budget"] == 60
    assert twenty["value"] >= 60
    for line in (five, twenty):
        kinds = line["fault_kinds"]
        assert sum(kinds.values()) == line["faulty"] >= 1
        assert line["met"] == {
            f"{arm} {kind}": n for arm in ("resume", "restart") for kind, n in kinds.items()
        }
        assert line["calls"]["wasted"] < line["calls"]["wasted_by_restart"]
    assert 0 < said["value"] <= said["baseline"]
