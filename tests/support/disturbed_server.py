"""A library that makes a server's flushes slow and its clock step; needs a C compiler."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_suffix(".c")


class Disturbed:
    """Environment of a server under disturbances; `shift` steps its clock while it runs."""

    def __init__(self, *, slow_flush_ms: int = 0) -> None:
        compiler = shutil.which("cc")
        if compiler is None or sys.platform != "linux":
            pytest.skip("NOT PROVED: no C compiler to disturb a server with")
        # Readable for the account of the server as well.
        self.folder = Path(tempfile.mkdtemp(prefix="gp-disturbed-"))
        self.folder.chmod(0o755)
        library, self._clock = self.folder / "disturbed.so", self.folder / "clock"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE], check=True)
        self.shift(0)
        self.environment = {
            "LD_PRELOAD": str(library),
            "SLOW_FLUSH_MS": str(slow_flush_ms),
            "CLOCK_SHIFT_FILE": str(self._clock),
        }

    def shift(self, seconds: int) -> None:
        """Let the server's clock be off by so much from now on."""
        with self._clock.open("r+b" if self._clock.exists() else "wb") as file:
            file.write(seconds.to_bytes(8, "little", signed=True))

    def remove(self) -> None:
        """Delete its files."""
        shutil.rmtree(self.folder)
