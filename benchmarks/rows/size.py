"""Row 4: what a thread takes on the disk, indexes and TOAST included, and how that grows."""

from __future__ import annotations

from .. import inside
from ..agents import growth, record
from ..report import Measured
from ..servers import Bench

STEPS, SIZE = 1_000, 1_000


def without_activity(steps: int) -> int:
    """Bytes that a thread adds; two events a step: the checkpoint and the way taken."""
    before = inside.counted(inside.STORED)
    inside.play(growth, steps, input={"steps": steps, "size": SIZE, "uneven": True})
    return inside.counted(inside.STORED) - before


def with_activity(steps: int) -> int:
    """Bytes that a thread adds; two events a step: the activity and the checkpoint."""
    before = inside.counted(inside.STORED)
    inside.play(record, steps, input={"size": SIZE})
    return inside.counted(inside.STORED) - before


def figures(steps: int) -> Measured:
    """Bytes of a long thread, and against one of a tenth of its steps."""
    measured = Measured({})
    for name, stored in (("", without_activity), ("_with_activity", with_activity)):
        stored(20)  # the first pages of every table
        tenth, whole = stored(steps // 10), stored(steps)
        # For 1,000 steps, as the budget says, whatever --scale does.
        measured.values[f"bytes{name}"] = whole / 1e6 * STEPS / steps
        measured.values[f"growth{name}"] = whole / tenth
        measured.baselines[f"bytes{name}"] = round(SIZE * STEPS / 1e6, 3)
        measured.ratios[f"bytes{name}"] = whole / (steps * SIZE)
        measured.details[f"thread{name}"] = {
            "steps": steps,
            "bytes": whole,
            "bytes_of_a_tenth": tenth,
        }
    return measured


def measure(bench: Bench, scale: float) -> Measured:
    """The baseline is what the steps append to the state, in MB."""
    with bench.without_autovacuum():
        return figures(max(200, int(STEPS * scale)))
