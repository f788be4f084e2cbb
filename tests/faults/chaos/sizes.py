"""How much chaos: a number of threads, and how often each fault strikes."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, fields
from typing import Self

# What `make chaos` does, and about how long that takes on two cores.
THREADS, MINUTES = 1_000, 12.0


@dataclass(frozen=True, slots=True)
class Faults:
    """Times that each kind strikes. Of the kills some are of slots, some of whole workers."""

    kill_slot: int = 150
    kill_worker: int = 50
    stop_worker: int = 20
    kill_web: int = 5
    kill_valkey: int = 5
    flush_valkey: int = 5
    kill_hot: int = 5
    stop_hot: int = 5
    poison_queue: int = 20
    freeze_lock: int = 10
    fill_disk: int = 5
    step_clock: int = 5
    postgres_fast: int = 3
    postgres_immediate: int = 3

    def scaled(self, share: float) -> Self:
        """The same mixture, each kind at least once."""
        values = {f.name: max(1, round(getattr(self, f.name) * share)) for f in fields(self)}
        return type(self)(**values)

    def shuffled(self, seed: int) -> list[str]:
        """All strikes in the order of the seed."""
        plan = [kind for kind, times in asdict(self).items() for _ in range(times)]
        random.Random(seed).shuffle(plan)
        return plan


@dataclass(frozen=True, slots=True)
class HostFaults(Faults):
    """Those, and what can happen to one of several hosts."""

    lose_host: int = 10
    part_host: int = 10
    part_postgres: int = 10
    part_valkey: int = 10
    part_files: int = 10
    part_web: int = 5
    stop_web: int = 5


@dataclass(frozen=True, slots=True)
class Size:
    """What one call does."""

    threads: int = THREADS
    faults: Faults = Faults()

    @classmethod
    def of(
        cls, *, minutes: float | None = None, threads: int | None = None, hosts: int = 1
    ) -> Self:
        """The whole, or a share of it by minutes or by threads."""
        faults = Faults() if hosts == 1 else HostFaults()
        if minutes is None and threads is None:
            return cls(faults=faults)
        share = threads / THREADS if threads is not None else (minutes or 0) / MINUTES
        return cls(threads or max(20, round(THREADS * share)), faults.scaled(share))

    @property
    def seconds(self) -> float:
        """About how long it takes, the start of everything included."""
        return 60 + MINUTES * 60 * self.threads / THREADS
