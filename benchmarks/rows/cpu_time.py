"""The processor time that the worker, PostgreSQL and Valkey have used, where the system says so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.db import connection

from dashboard.wire import hints

from ..servers import Bench

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class CpuTime:
    """Seconds of each part; empty where there is no /proc."""

    seconds: dict[str, float]

    @classmethod
    def read(cls, bench: Bench, *workers: int) -> CpuTime:
        """What was used so far by workers of these process ids and by the servers of the bench."""
        if not _PROC.is_dir():
            return cls({})
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            [backend] = cursor.fetchone()
        valkey = hints.client().info("cpu")
        return cls(
            {
                "worker": sum(map(cpu_seconds, workers)),
                "postgresql": cpu_seconds(_parent(backend)),
                "valkey": valkey["used_cpu_user"] + valkey["used_cpu_sys"],
            }
        )

    def since(self, before: CpuTime) -> CpuTime:
        """What was used in between."""
        return CpuTime({part: s - before.seconds[part] for part, s in self.seconds.items()})

    def per(self, count: int) -> dict[str, float]:
        """Milliseconds of each part for one of so many, and their sum."""
        each = {part: s * 1000 / count for part, s in self.seconds.items()}
        return each | {"all": sum(each.values())} if each else {}


def _fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name: [1] is the parent, [11] to [14] are ticks."""
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _parent(pid: int) -> int:
    return int(_fields(pid)[1])


def cpu_seconds(root: int) -> float:
    """Seconds that a process and all below it have used, and children that it has waited for."""
    ticks = 0
    parents: dict[int, list[int]] = {}
    values = dict(_processes())
    for pid, fields in values.items():
        parents.setdefault(int(fields[1]), []).append(pid)
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        ticks += sum(map(int, values[pid][11:15]))
        waiting += parents.get(pid, [])
    return ticks / os.sysconf("SC_CLK_TCK")


def _processes() -> Iterator[tuple[int, list[str]]]:
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), _fields(int(folder.name))
            except OSError:
                continue  # it ended meanwhile
