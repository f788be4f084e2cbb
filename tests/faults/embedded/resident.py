"""Commands of one installation, one after another in one process, as a line of JSON each.

`python -m tests.faults.embedded.resident` reads the words of a command and answers [exit code,
stdout, stderr]: Django starts once. Commands as processes of their own are tests/unit/dashboard's.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .helpers import ROOT, clean_environment


def answered(words: list[str]) -> tuple[int, str, str]:
    """Run a command; its exit code, stdout and stderr."""
    import gatepost_command

    sys.argv = ["manage.py", *words]
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            gatepost_command.main()
        except SystemExit as ended:
            code = ended.code
        from django.db import connections

        connections.close_all()  # as a process that ends
    assert code is None or isinstance(code, int), code
    return code or 0, out.getvalue(), err.getvalue()


class Installation:
    """A second terminal of an installation that `up` runs; a context that ends its process."""

    def __init__(self, data: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.embedded.resident"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=clean_environment() | {"GATEPOST_DATA": str(data)},
            cwd=ROOT,
            text=True,
        )

    def __enter__(self) -> Installation:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def _manage(self, *words: str) -> tuple[int, str, str]:
        """(exit code, stdout, stderr) of a command."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([*words, "--json"]) + "\n")
        self.process.stdin.flush()
        code, out, err = json.loads(self.process.stdout.readline())
        return code, out, err

    def __call__(self, *words: str) -> Any:
        """The JSON that a command answers."""
        code, out, err = self._manage(*words)
        assert code == 0, out + err
        return json.loads(out or "null")

    def refused(self, *words: str) -> str:
        code, out, err = self._manage(*words)
        assert code == 1, out + err
        return err

    def until(self, thread: str, *statuses: str, seconds: float = 60) -> Any:
        """The thread, once it has one of these statuses."""
        deadline = time.monotonic() + seconds
        while (result := self("threads", "show", thread))["status"] not in statuses:
            assert time.monotonic() < deadline, result
            time.sleep(0.2)
        return result

    def events(self, thread: str) -> list[Any]:
        results: list[Any] = self("threads", "events", thread, "--limit", "200")["results"]
        return results


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), flush=True)
