"""What the tasks of the chaos are, and that their right ends come from outside of the product."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from tests.faults.embedded.helpers import ROOT
from tests.unit.agents.payments.oracle import reckon

from . import tasks
from .outcomes import payables, reports
from .sizes import MINUTES, THREADS, Size

FLOORS = (
    *("checkpoints", "approvals", "workers", "dashboard"),
    *("gatepost_agents", "gatepost", "django"),
)


def test_the_verdict_imports_nothing_of_the_product() -> None:
    program = (
        "import sys, tests.faults.chaos.verdict\n"
        f"sys.exit(' '.join(n for n in sys.modules if n.partition('.')[0] in {FLOORS!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.stderr.strip(), done.stderr


def test_the_right_end_of_a_payment_is_what_the_raw_files_come_to(tmp_path: Path) -> None:
    seen = set()
    for task in range(1, 60):
        for field, (_, raw) in payables.files(task).items():
            name = {"file": "invoices", "orders_file": "orders"}.get(field, "suppliers")
            (tmp_path / f"{name}.csv").write_bytes(raw)
        result = reckon(tmp_path)
        # That reckoning knows no bank; all else it has to find as the task was made.
        aside = [line for line in payables.set_aside(task) if line.check != "history"]
        checks = {line.check for line in aside}
        seen |= {line.check for line in payables.lines(task)}
        assert result.aside == {
            check: {line.number for line in aside if line.check == check} for check in checks
        }
        old = sum(payables.in_cents(one["amount"]) for one in [payables.before(task)] if one)
        assert sum(result.paid.values()) == payables.total(payables.paid(task)) + old
        assert payables.mails(task)
    assert seen == {"", *payables.CHECKS}


def test_tasks_are_files_of_their_own_and_rejected_ones_come_on_top() -> None:
    for fulls in (1, 7, 9, 10, 167, 1000):
        needed = tasks.needed(fulls)
        assert sum(map(tasks.full, range(1, needed + 1))) == fulls
    raws = [raw for n in range(1, 200) for _, raw in
            (payables if n % tasks.CYCLE else reports).files(n).values()]  # fmt: skip
    assert len(set(raws)) == len(raws)
    assert tasks.task_of("invoices-17.csv") == 17
    assert tasks.task_of("orders.csv") == -1
    assert tasks.STEPS_REJECTED >= tasks.FULL_STEPS > tasks.STEPS_REPORT


def test_sizes() -> None:
    whole = Size.of()
    faults = whole.faults
    assert whole.threads == THREADS == 1000
    assert faults.kill_slot + faults.kill_worker >= 200
    assert faults.stop_worker >= 20
    assert min(faults.kill_valkey, faults.flush_valkey) >= 5
    assert min(faults.fill_disk, faults.step_clock) >= 5
    assert min(faults.poison_queue, faults.freeze_lock) >= 10
    assert faults.postgres_fast + faults.postgres_immediate >= 5
    small = Size.of(minutes=2)
    assert small.threads == round(THREADS * 2 / MINUTES)
    assert min(asdict(small.faults).values()) >= 1
    assert Size.of(threads=100).faults.kill_slot == faults.kill_slot / 10
    assert faults.shuffled(3) == faults.shuffled(3) != faults.shuffled(4)
