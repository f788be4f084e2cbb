"""Row 23: `make up` in a fresh clone: environment, packages from the cache, tables, demo, ready."""

from __future__ import annotations

import re
import subprocess
import sys

from ..report import Measured
from ..servers import scratch_folder
from .up import ROOT, Up


def measure(_scale: float) -> Measured:
    """The first clone fills the cache of packages; the second one is timed."""
    if not sys.platform.startswith("linux"):
        raise RuntimeError("what is left over is looked for in /proc, which is not here")
    with scratch_folder() as home:
        for name in ("first", "second"):
            clone = home / name
            subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
            up = Up(clone / ".gatepost", home / f"{name}.txt", folder=clone)
            try:
                ready = up.wait_ready()
                phases = re.findall(r"^  \S+ (\S.*?) {2,}([\d.]+) s$", up.output.read_text(), re.M)
                up.press_ctrl_c()
            finally:
                up.end()
    seconds = {phase: float(taken) for phase, taken in phases}
    return Measured({"ready": ready, "tables": seconds["tables"]}, details={"phases_s": seconds})
