"""Messages of a queue: what a doorbell with one id consists of, and how it is told from garbage.

Of a message only the id that it carries counts and what it says of its request. A plain message in
the rest of Celery's protocol follows, so nobody who can write to the broker reaches the options of
a task (`eta`, `timelimit`, `reply_to` and the like).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from . import trace_ids

TASK: Final = "gatepost.advance"
CANARY: Final = "gatepost.canary"
BYTES_MAX: Final = 16 * 1024  # an honest one has some 800
_NAME: Final = re.compile(r"[A-Za-z0-9:._@-]{1,200}")
# The queues of kombu carry a priority after these characters.
_PRIORITY: Final = "\x06\x16"


class NoDoorbell(Exception):
    """The message from a queue is no doorbell; the text says why."""


def _thread(name: str) -> str:
    return str(UUID(name))


def _worker(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError("no worker's id")
    return name


# Task -> its one argument, checked. A task that is not named here is never called by a message.
READERS: Final[dict[str, Callable[[str], str]]] = {TASK: _thread, CANARY: _worker}


def body(name: str) -> list[Any]:
    """The arguments of a doorbell, as Celery's protocol 2 has them."""
    return [[name], {}, {}]


def headers(task: str, *, expires: float | None = None) -> dict[str, Any]:
    """The headers of a new doorbell; nobody takes it later than `expires` seconds from now."""
    ident = str(uuid4())
    until = None if expires is None else datetime.now(UTC) + timedelta(seconds=expires)
    return {
        "lang": "py",
        "task": task,
        "id": ident,
        "root_id": ident,
        "expires": until and until.isoformat(),
        **trace_ids.headers(),
    }


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


def _read(result: Any, queue: str) -> str | None:
    headers = result["headers"]
    task = headers["task"]
    read_name = READERS.get(task)
    if read_name is None:
        raise NoDoorbell(f"no task of ours: {task!r}")
    if result["content-type"] != "application/json":
        raise NoDoorbell(f"its content is {result['content-type']!r}")
    args, kwargs, _ = json.loads(base64.b64decode(result["body"], validate=True))
    if kwargs != {} or len(args) != 1:
        raise NoDoorbell("a doorbell has one argument")
    name = read_name(args[0])
    if _is_over(headers.get("expires")):
        return None
    return plain(task, name, queue, headers.get(trace_ids.HEADER))


def _is_over(expires: str | None) -> bool:
    if expires is None:
        return False
    until = datetime.fromisoformat(expires)
    return until < (datetime.now(UTC) if until.tzinfo else datetime.now(UTC).replace(tzinfo=None))


def plain(task: str, name: str, queue: str, request: Any = None) -> str:
    """A message, as it lies in a queue, that calls `task` with `name`.

    Celery's protocol 2 without any option.
    """
    ident = str(uuid4())
    named = {trace_ids.HEADER: request} if trace_ids.sane(request) else {}
    return json.dumps(
        {
            "body": base64.b64encode(json.dumps(body(name)).encode()).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": {"lang": "py", "task": task, "id": ident, "root_id": ident, **named},
            "properties": {
                "correlation_id": ident,
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": queue},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": str(uuid4()),
            },
        }
    )
