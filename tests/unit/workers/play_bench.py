"""A bench on the server of plays: what passes on the test's database passes there too."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from checkpoints import store
from tests.unit.workers.conftest import Bench
from workers.code.registry import announce
from workers.testing.play_store import PlayStore


class PlayBench:
    """A bench each of whose calls reaches the database of a play."""

    def __init__(self, bench: Bench, plays: PlayStore) -> None:
        self._bench = bench
        self._plays = plays

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._bench, name)
        return partial(self._plays.call, value) if callable(value) else value


def play_bench_of(module: Any) -> tuple[Bench, PlayStore]:
    """A bench for the agent that a module holds, and the store in which it plays."""
    plays = PlayStore()

    def make() -> Bench:
        agent = announce(module.graph, getattr(module, "TOOLS", {}), [module])
        return Bench(agent, store.create_workspace(f"bench {plays.workspace}", actor="user:0"))

    return cast(Bench, PlayBench(plays.call(make), plays)), plays
