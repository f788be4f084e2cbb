"""A doorbell as it lies in its queue: the message that Celery would send for `advance(thread)`.

By name, since a web process knows neither tasks nor agents, and written by hand: Celery's routers,
exchanges, encoders and copies of the arguments for people, none of which a doorbell needs, take
four times as long as the sending. A test holds it against Celery's own.
"""

from __future__ import annotations

import base64
import json
import os
import socket
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID, uuid4

TASK: Final = "gatepost.advance"
# A header: rung before the commit, which a worker meets at the thread's row.
AHEAD: Final = "gatepost_ahead"
_NOTHING: Final[dict[str, Any]] = {
    "shadow": None,
    "eta": None,
    "expires": None,
    "group": None,
    "group_index": None,
    "retries": 0,
    "timelimit": [None, None],
    "parent_id": None,
    "kwargsrepr": "{}",
    "ignore_result": True,
    "replaced_task_nesting": 0,
    "stamped_headers": None,
    "stamps": {},
}


def letter(thread: UUID, queue: str, more: Mapping[str, Any]) -> str:
    """The message as the broker keeps it, with `more` headers."""
    ident, args = str(uuid4()), [str(thread)]
    parts = dict.fromkeys(("callbacks", "errbacks", "chain", "chord"))
    return json.dumps(
        {
            "body": base64.b64encode(json.dumps([args, {}, parts]).encode()).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": {
                "lang": "py",
                "task": TASK,
                "id": ident,
                "root_id": ident,
                "argsrepr": repr(args),
                "origin": f"gen{os.getpid()}@{socket.gethostname()}",
                **_NOTHING,
                **more,
            },
            "properties": {
                "correlation_id": ident,
                "reply_to": "",
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": queue},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": str(uuid4()),
            },
        }
    )
