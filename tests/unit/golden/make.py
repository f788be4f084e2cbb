"""Write the histories of `market-research` as its code is now: python -m tests.unit.golden.make

Once per version of its state, by the code of that version; what is written is never written again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import Any
from uuid import UUID

AGENT = "gatepost_agents.market_research"
STORIES = ("at-the-gate", "finished", "failed")


def main() -> int:
    """Play each story on a database of its own and write it down; 1 where it was written before."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.support.settings")
    import django

    django.setup()
    from django.test.utils import setup_databases

    from workers.code.registry import load

    from .rows import MADE, History, dump, written

    setup_databases(verbosity=0, interactive=False, aliases={"default"})
    agent = load([AGENT])["market-research"]
    version = agent.graph.schema_version
    planned = [History(version, story) for story in STORIES]
    if any(history.path.exists() for history in planned):
        sys.stderr.write(
            f"The histories of schema {version} are written; what is golden stays as it is. "
            "Raise schema_version, register its upgrade, then write those of the new one.\n"
        )
        return 1
    for history in planned:
        dump(_play(agent, history.story, f"golden {version} {history.story}"), history)
    sums = {
        str(path.relative_to(MADE.parent)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in written()
    }
    MADE.write_text(json.dumps(sums, indent=1) + "\n")
    return 0


def _play(agent: Any, story: str, workspace: str) -> UUID:
    """Live one story with the installed code, in a workspace of that name."""
    from checkpoints import store
    from checkpoints.states import Status
    from tests.browser.tables import shop_table
    from tests.unit.workers.conftest import Bench

    bench = Bench(agent, store.create_workspace(workspace, actor="user:0"))
    table = shop_table(60, broken=20 if story == "failed" else 0)
    given: dict[str, Any] = {
        "question": "Which shop is dear?",
        "measure": "price",
        "file": store.put_artifact(
            bench.workspace, name="shops.csv", media_type="text/csv", chunks=[table]
        ),
        # The channel's name has changed since.
        next(c for c in ("ignore", "ignore_columns") if c in agent.graph.reducers): ["weight"],
    }
    thread = bench.start(**given)
    expected = {
        "at-the-gate": Status.WAITING,
        "finished": Status.SUCCEEDED,
        "failed": Status.FAILED,
    }
    row = bench.advance(thread)
    if story == "finished":
        bench.decide(thread, "approve", "Fine.")
        row = bench.advance(thread)
    assert row.status is expected[story], (row.status, row.status_reason)
    return thread


if __name__ == "__main__":
    sys.exit(main())
