"""A thread from start to end with the generated client; prints the thread's id."""

from __future__ import annotations

import os
from uuid import UUID, uuid4

from generated.api.threads import (
    external_begin,
    external_commit,
    external_next,
    external_release,
    external_settle,
    external_take,
    threads_start,
)
from generated.client import AuthenticatedClient
from generated.models import (
    BeginActivity,
    ReleaseLease,
    ReportCheckpoint,
    SettleActivity,
    StartThread,
    TakeLease,
)

client = AuthenticatedClient(
    base_url=os.environ["GATEPOST_URL"], token=os.environ["GATEPOST_TOKEN"]
)
thread = threads_start.sync(
    client=client,
    body=StartThread.from_dict(
        {
            "agent": "generated",
            "name": str(uuid4()),
            "input": {"goal": "tea"},
            "external": {
                "framework": "openapi",
                "channels": {"notes": "append"},
                "tools": {"boil": {}},
            },
        }
    ),
)
ident = UUID(str(thread.id))
assert external_next.sync(ident, client=client).do == "take"
lease = external_take.sync(ident, client=client, body=TakeLease(name="generated", seconds=60))
assert lease.state.to_dict() == {"goal": "tea"}
call = {"step": 1, "node": "boil", "key": "boil", "kind": "effect", "tool": "boil"}
begun = external_begin.sync(
    ident,
    client=client,
    gatepost_lease=str(lease.token),
    body=BeginActivity.from_dict({**call, "args": {"litres": 1}}),
)
assert begun.do == "call"
settled = external_settle.sync(
    ident,
    client=client,
    gatepost_lease=str(lease.token),
    body=SettleActivity.from_dict({**call, "state": "done", "result": "hot"}),
)
assert settled.activity.state == "done"
committed = external_commit.sync(
    ident,
    client=client,
    gatepost_lease=str(lease.token),
    body=ReportCheckpoint.from_dict(
        {"step": 1, "nodes": ["boil"], "delta": {"append": {"notes": ["hot"]}}}
    ),
)
assert committed.thread.step == 1
left = external_release.sync(
    ident,
    client=client,
    gatepost_lease=str(lease.token),
    body=ReleaseLease.from_dict({"as": "succeeded"}),
)
assert left.thread.status == "succeeded"
print(ident)
