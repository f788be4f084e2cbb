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
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from uuid_utils import uuid4

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
_PARTS: Final = json.dumps(dict.fromkeys(("callbacks", "errbacks", "chain", "chord")))
# Words that no queue is called, in the place of what differs from message to message.
_BODY, _ID, _ARGS, _TAG, _MORE = (
    f"\x00{name}\x00" for name in ("body", "id", "args", "tag", "more")
)


@lru_cache(maxsize=16)
def _form(queue: str, process: int) -> tuple[str, ...]:
    """The message as JSON, cut where it differs: body, id, id, args, more headers, id, tag."""
    text = json.dumps(
        {
            "body": _BODY,
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": {
                "lang": "py",
                "task": TASK,
                "id": _ID,
                "root_id": _ID,
                "argsrepr": _ARGS,
                "origin": f"gen{process}@{socket.gethostname()}",
                **_NOTHING,
                _MORE: None,
            },
            "properties": {
                "correlation_id": _ID,
                "reply_to": "",
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": queue},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": _TAG,
            },
        }
    )
    written = {name: json.dumps(name)[1:-1] for name in (_BODY, _ID, _ARGS, _TAG)}
    text = text.replace(f", {json.dumps(_MORE)}: null", _MORE)
    for name in written.values():
        text = text.replace(name, _MORE)
    return tuple(text.split(_MORE))


def letter(thread: UUID, queue: str, more: Mapping[str, Any]) -> str:
    """The message as the broker keeps it, with `more` headers."""
    ident, name = str(uuid4()), str(thread)
    body = base64.b64encode(f'[["{name}"], {{}}, {_PARTS}]'.encode()).decode()
    headers = f", {json.dumps(more)[1:-1]}" if more else ""
    filled = (body, ident, ident, f"['{name}']", headers, ident, str(uuid4()), "")
    pieces = zip(_form(queue, os.getpid()), filled, strict=True)
    return "".join([part for pair in pieces for part in pair])
