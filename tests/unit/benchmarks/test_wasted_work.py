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
from benchmarks.agents import shipped
from benchmarks.faults import shipped_trials, trials
from benchmarks.faults.charged_server import KINDS, Charging, Fault, price
from gatepost_agents.market_research import agent as research
from gatepost_agents.payments import agent as paying
from workers.authoring.graph import END, Graph, State
from workers.code.registry import discover as installed

from .test_budgets import FORM

ROOT = Path(__file__).resolve().parents[3]


def test_faults_are_drawn_uniformly_and_alike_for_a_seed() -> None:
    shares, steps, kinds = [], Counter[int](), Counter[str]()
    for seed in range(300):
        faults = trials.drawn(seed, 20, 100)
        assert faults == trials.drawn(seed, 20, 100)
        shares.append(len(faults) / 100)
        steps.update(fault.step for fault in faults.values())
        kinds.update(fault.kind for fault in faults.values())
    assert trials.SHARE[0] <= min(shares) < 0.17
    assert 0.28 < max(shares) <= trials.SHARE[1]
    assert set(steps) == set(range(1, 21))
    assert max(steps.values()) < 1.5 * min(steps.values())
    assert set(kinds) == set(KINDS)


def test_a_fault_is_met_once_and_what_was_done_is_charged() -> None:
    met: list[tuple[str, Fault]] = []
    server = Charging(lambda trial, fault: met.append((trial, fault)))
    server.plan({"resume/t": Fault(2, "429")})

    def ask(what: str, step: int) -> int:
        query = {"what": what, "trial": "resume/t", "step": step, "pid": 0}
        return server.answer(query)[0]

    answers = [ask(what, step) for step in (1, 2, 2) for what in ("fetch", "model")]
    assert answers == [200, 200, 200, 429, 200, 200]
    assert met == [("resume/t", Fault(2, "429"))]
    assert server.calls["resume/t"] == 6
    # A refusal costs no tokens, and fetching never does.
    assert server.tokens["resume/t"] == sum(price("t", 1)) + sum(price("t", 2))


class Counted(trials.Field):
    """Results, without having worked."""

    def __init__(self, resumed: int, restarted: int) -> None:
        server = Charging(lambda *_: None)
        super().__init__(server, 20, 2, {"20x0": Fault(10, "503")})
        self.met.update({"resume 503": 1, "restart 503": 1})
        for name, trial in self.trials.items():
            server.calls[name] = 40
            server.tokens[name] = sum(sum(price(trial.task, s)) for s in range(1, 21))
        for arm, wasted in (("resume", resumed), ("restart", restarted)):
            server.calls[f"{arm}/20x0"] += wasted
            server.tokens[f"{arm}/20x0"] += 100 * wasted


@pytest.mark.parametrize(
    ("resumed", "restarted", "value", "ok"),
    [(1, 20, 95.0, True), (8, 20, 60.0, True), (9, 20, 55.0, False), (0, 0, 0.0, False)],
)
def test_ok_follows_from_the_waste(resumed: int, restarted: int, value: float, ok: bool) -> None:
    faults = {"20x0": Fault(10, "503")}
    line = wasted_work.line(20, Counted(resumed, restarted), faults, 7)
    assert (line["value"], line["ok"]) == (pytest.approx(value), ok)
    assert line["article"] == 82
    unmet = Counted(resumed, restarted)
    unmet.met.clear()
    assert wasted_work.line(20, unmet, faults, 7)["ok"] is False


@pytest.mark.parametrize(
    ("bench", "agent"),
    [(shipped.market_research, research.graph), (shipped.payments, paying.graph)],
)
def test_the_shipped_graphs_are_worked_node_for_node(bench: Graph, agent: Graph) -> None:
    drawn, theirs = bench.describe_graph(), agent.describe_graph()
    assert drawn == theirs
    assert len(bench.nodes) == shipped_trials.SHIPPED[agent.name].steps
    assert [n.then for n in bench.nodes.values()] == [n.then for n in agent.nodes.values()]
    assert set(agent.state.model_fields) | {"trial"} == set(bench.state.model_fields)
    home = f"gatepost_agents.{agent.name.replace('-', '_')}"
    ((_, needed, _),) = installed([home])
    for _, tools, _ in installed(["benchmarks.agents.shipped"]):
        assert needed.keys() <= tools.keys()


def test_a_fault_strikes_when_the_node_has_done_its_work() -> None:
    class Some(State):
        trial: str = ""

    done: list[Any] = []
    plain = Graph("plain", Some)

    @plain.node(then="last")
    def first(state: Any, ctx: Any) -> dict[str, Any]:
        done.append("first works")
        return {}

    @plain.node(then=END)
    def last(state: Any, ctx: Any) -> dict[str, Any]:
        done.append("last works")
        return {"trial": "worked"}

    class Noting:
        def activity(self, call: Any, *args: Any) -> None:
            done.append((call.__name__, *args))

        def model(self, request: Any) -> None:
            done.append(("model", request["trial"], request["step"]))

    charged = shipped.charged(plain, Some)
    updates = [n.call(Some(trial="resume/t"), Noting()) for n in charged.nodes.values()]
    assert updates == [{}, {"trial": "worked"}]
    assert done == [
        ("fetch", "resume/t", 1), "first works", ("model", "resume/t", 1),
        ("fetch", "resume/t", 2), "last works", ("model", "resume/t", 2),
    ]  # fmt: skip


class Ended(shipped_trials.Shipped):
    """Payments of two tasks, one of them struck after it had paid, without having worked."""

    def __init__(self, folder: Path, ledger: list[str]) -> None:
        book = folder / "ledger.jsonl"
        book.write_text("".join(json.dumps({"op": op, "outcome": "done"}) + "\n" for op in ledger))
        faults = {"paymentsx0": Fault(10, "kill")}
        super().__init__(Charging(lambda *_: None), "payments", 2, faults, book)
        self.decided.update(resume=2, restart=3)
        self.n_results = {arm: Counter({1: 2}) for arm in trials.ARMS}
        self._own = {name: shipped_trials.Own(13, 3, 0) for name in self.trials} | {
            "restart/paymentsx0": shipped_trials.Own(24, 5, 2)
        }


PAID_ANEW = ["reserve", "pay", "refund", "release", *["reserve", "pay"] * 4]


def test_one_payment_per_task_has_to_stand(tmp_path: Path) -> None:
    good = Ended(tmp_path, PAID_ANEW)
    assert good.right
    assert (good.own_wasted("resume"), good.own_wasted("restart")) == (0, 11)
    # Not taken back, kept reserved, paid twice, asked twice: each is found.
    assert not Ended(tmp_path, ["reserve", "pay"] * 5).right
    assert not Ended(tmp_path, [op for op in PAID_ANEW if op != "release"]).right
    twice = Ended(tmp_path, PAID_ANEW)
    twice.n_results["restart"] = Counter({1: 1, 2: 1})
    assert not twice.right
    ended = Ended(tmp_path, PAID_ANEW)
    ended.decided["resume"] = 3
    assert not ended.right


@pytest.mark.nightly
@pytest.mark.hazard
@pytest.mark.requirement("A36")
@pytest.mark.requirement("B05")
def test_a_small_one_on_real_workers() -> None:
    """The seed draws each kind of fault, a kill late in its task, and strikes both shipped agents
    when they have published, and have paid and mailed."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.wasted_work", "--seed", "1299"),
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
        assert (line["seed"], line["ok"]) == (1299, True)
    *measured, message = lines
    _, twenty, report, payment = measured
    assert [line["row"] for line in lines] == [None] * 5  # a fraction stands for no row
    assert twenty["budget"] == 60
    assert twenty["value"] >= 60
    for line in measured:
        kinds = line["fault_kinds"]
        assert sum(kinds.values()) == line["faulty"] >= 1
        assert line["met"] == {
            f"{arm} {kind}": n for arm in ("resume", "restart") for kind, n in kinds.items()
        }
        assert line["calls"]["wasted"] < line["calls"]["wasted_by_restart"]
    assert 0 < message["value"] <= message["baseline"]
    tasks = dict.fromkeys(trials.ARMS, 4)
    for line in (report, payment):
        assert line["tasks"] == 4
        assert line["stands_once"] == tasks
        assert line["own_calls"]["wasted"] == 0 < line["own_calls"]["wasted_by_restart"]
        assert line["approvals"] == {"resume": 4, "restart": 5}
    assert (report["fault_steps"], payment["fault_steps"]) == ([6], [11])
    assert report["taken_back"] == {"resume": 0, "restart": 1}
    assert payment["taken_back"] == {"resume": 0, "restart": 2}
    assert payment["ledger"] == {"reserve": 9, "pay": 9, "refund": 1, "release": 1}
    # A mail cannot be taken back: restarting sends those of its task twice.
    assert payment["mails"] == {"resume": 8, "restart": 10}
