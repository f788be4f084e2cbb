"""Commands as processes of their own: with pipes, or on a terminal with somebody who types."""

from __future__ import annotations

import errno
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 60.0


def environment(**more: str) -> dict[str, str]:
    """That of this test run, so that a child finds its servers and the database of now.

    Without its role: whoever imports the web application here takes that of a web process.
    """
    results = {name: value for name, value in os.environ.items() if name != "GATEPOST_ROLE"}
    return {**results, "DJANGO_SETTINGS_MODULE": "tests.support.settings", **more}


def argv(*words: object) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), *map(str, words)]


def manage(*words: object, env: dict[str, str] | None = None, **options: Any) -> Any:
    """A command with pipes; returncode, stdout, stderr."""
    return subprocess.run(
        argv(*words),
        **{
            "env": env or environment(),
            "cwd": ROOT,
            "capture_output": True,
            "text": True,
            "stdin": subprocess.DEVNULL,
            "timeout": SECONDS,
            **options,
        },
    )


def on_terminal(*words: object, typed: str = "", **more: str) -> tuple[int, str]:
    """A command on a terminal 160 wide: exit code and everything shown there.

    `typed` is sent when the command asks.
    """
    ours, theirs = pty.openpty()
    shell = environment(TERM="xterm-256color", COLUMNS="160", **more)
    process = subprocess.Popen(
        argv(*words), env=shell, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown, deadline = b"", time.monotonic() + SECONDS
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.2)[0]:
                continue
            try:
                part = os.read(ours, 65_536)
            except OSError as error:
                if error.errno != errno.EIO:  # how Linux says that the other side is closed
                    raise
                part = b""
            if not part:
                break
            shown += part
            if typed and shown.endswith(b"[y/N] "):
                os.write(ours, typed.encode())
                typed = ""
        return process.wait(SECONDS), shown.decode().replace("\r\n", "\n")
    finally:
        process.kill()
        process.wait()
        os.close(ours)
