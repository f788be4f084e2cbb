"""Compensations as a module has them: other processes can import and call them."""

from __future__ import annotations

import os
from pathlib import Path

calls: list[str] = []
keys: list[str] = []
fails: set[str] = set()


def release(what: str = "room") -> None:
    calls.append(f"release {what}")
    if what in fails:
        raise OSError(f"{what} does not answer")


def release_seat() -> None:
    release("seat")


def release_room() -> None:
    release("room")


def refund(amount: str, *, key: str) -> None:
    calls.append(f"refund {amount}")
    keys.append(key)


def mark(folder: str, name: str, *, key: str) -> None:
    """For other processes: a line per call, and a stay while a file lies there."""
    with Path(folder, f"{name}.log").open("a") as file:
        file.write(f"{os.getpid()} {key}\n")


class Office:
    def close(self) -> None:
        calls.append("close")
