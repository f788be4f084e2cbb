"""A doorbell as it lies in its queue: the message that Celery would send for `advance(thread)`.

What is taken from a queue is read here first. Of a message only the id that it carries counts and
what it says of its request; a message of our own making goes on to Celery, so nobody who can write
to the broker reaches the options of a task (`eta`, `timelimit`, `reply_to` and the like).

By name, since a web process knows neither tasks nor agents, and written by hand: Celery's routers,
exchanges, encoders and copies of the arguments for people, none of which a doorbell needs, take
four times as long as the sending. A test holds it against Celery's own.
"""

from __future__ import annotations

import base64
import json
import os
import re
import socket
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from uuid_utils import uuid4

from . import trace_ids

TASK: Final = "gatepost.advance"
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
def _form(task: str, queue: str, process: int) -> tuple[str, ...]:
    """The message as JSON, cut where it differs: body, id, id, args, more headers, id, tag."""
    text = json.dumps(
        {
            "body": _BODY,
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": {
                "lang": "py",
                "task": task,
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
    return message(TASK, str(thread), queue, more)


def message(task: str, name: str, queue: str, more: Mapping[str, Any]) -> str:
    """The message that calls `task` with `name`, a text without quotes or control characters."""
    ident = str(uuid4())
    body = base64.b64encode(f'[["{name}"], {{}}, {_PARTS}]'.encode()).decode()
    headers = f", {json.dumps(more)[1:-1]}" if more else ""
    filled = (body, ident, ident, f"['{name}']", headers, ident, str(uuid4()), "")
    pieces = zip(_form(task, queue, os.getpid()), filled, strict=True)
    return "".join([part for pair in pieces for part in pair])


# ---- taking them ----

BYTES_MAX: Final = 16 * 1024  # an honest one has some 800
CANARY: Final = "gatepost.canary"
_NAME: Final = re.compile(r"[A-Za-z0-9:._@-]{1,200}")
# The queues of kombu carry a priority after these characters.
_PRIORITY: Final = "\x06\x16"


class NoDoorbell(Exception):
    """What was taken from a queue is no doorbell; the text says why."""


def _thread(name: str) -> str:
    return str(UUID(name))


def _worker(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError("no worker's id")
    return name


# Task -> its one argument, checked. A task that is not named here is never called by a message.
READERS: Final[dict[str, Callable[[str], str]]] = {TASK: _thread, CANARY: _worker}


def read(text: bytes, key: str) -> str | None:
    """A doorbell from the queue `key`, written anew; None for one whose time is over.

    Raises NoDoorbell for everything else, whatever it is.
    """
    if len(text) > BYTES_MAX:
        raise NoDoorbell(f"{len(text)} bytes; a doorbell has at most {BYTES_MAX}")
    try:
        return _read(json.loads(text), key.partition(_PRIORITY)[0])
    except NoDoorbell:
        raise
    # Whatever a stranger wrote: too deep, wrong types, numbers without end.
    except Exception as error:
        raise NoDoorbell(f"{type(error).__name__}: {error}") from None


def _read(found: Any, queue: str) -> str | None:
    headers = found["headers"]
    task = headers["task"]
    read_name = READERS.get(task)
    if read_name is None:
        raise NoDoorbell(f"no task of ours: {task!r}")
    if found["content-type"] != "application/json":
        raise NoDoorbell(f"its content is {found['content-type']!r}")
    args, kwargs, _ = json.loads(base64.b64decode(found["body"], validate=True))
    if kwargs != {} or len(args) != 1:
        raise NoDoorbell("a doorbell has one argument")
    name = read_name(args[0])
    if _is_over(headers.get("expires")):
        return None
    more: dict[str, Any] = trace_ids.bound(headers.get(trace_ids.HEADER))
    more = {trace_ids.HEADER: more[trace_ids.NAME]} if more else {}
    return message(task, name, queue, more)


def _is_over(expires: str | None) -> bool:
    if expires is None:
        return False
    until = datetime.fromisoformat(expires)
    return until < (datetime.now(UTC) if until.tzinfo else datetime.now(UTC).replace(tzinfo=None))
