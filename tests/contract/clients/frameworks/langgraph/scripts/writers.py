"""One of two writers: reads the newest checkpoint, puts one on it, so many times."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

from langgraph.checkpoint.base.id import uuid6

from gatepost_client.langgraph import GatepostSaver, Outdated, Taken

name, rounds = sys.argv[1], int(sys.argv[2])
config: dict[str, Any] = {"configurable": {"thread_id": "shared", "checkpoint_ns": ""}}
counts = {"put": 0, "outdated": 0}
with GatepostSaver("writers") as saver:
    for _ in range(rounds):
        known = saver.get_tuple(config)
        before = {"n": 0, "log": []} if known is None else known.checkpoint["channel_values"]
        values = {"n": before["n"] + 1, "log": [*before["log"], name]}
        checkpoint = {
            "v": 4,
            "id": str(uuid6()),
            "ts": datetime.now(UTC).isoformat(),
            "channel_values": values,
            "channel_versions": {"n": values["n"], "log": values["n"]},
            "versions_seen": {},
        }
        on = config if known is None else known.config
        metadata = {"source": "loop", "step": values["n"], "parents": {}}
        try:
            saver.put(on, checkpoint, metadata, {})
        except (Outdated, Taken):
            counts["outdated"] += 1
        else:
            counts["put"] += 1
print(json.dumps(counts))
