"""One request of the API, sent until it has an answer: retries, idempotency keys, refusals."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from .errors import Refused, Unreachable
from .flow import Answer, Disconnected, Flow, Send, Sleep

API = "/api/v1"
PATIENCE = 300.0  # seconds for which a server may be away
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
BUSY = (429, 502, 503, 504)


def request(
    method: str,
    path: str,
    body: Any = None,
    *,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30.0,
    patience: float = PATIENCE,
    keyed: bool = True,
) -> Flow[Answer]:
    """Send a request and give its answer; raises Refused or Unreachable.

    What has no answer is sent again until `patience` seconds are over. A POST has one
    idempotency key through all of that, so that it is done once; `keyed` is False for one whose
    body has an id of its own, which serves the same.
    """
    named = dict(headers or {})
    if method == "POST" and keyed:
        named.setdefault("Idempotency-Key", str(uuid4()))
    send = Send(method, API + path, body, named, timeout)
    ends_at = time.monotonic() + patience
    pause = FIRST_PAUSE
    while True:
        wait = pause
        try:
            answer: Answer = yield send
        except Disconnected as error:
            fault: Exception = Unreachable(f"Gatepost does not answer: {error}")
        else:
            if answer.status not in BUSY and not _still_working(answer):
                return _checked(answer)
            fault = _refusal(answer)
            wait = max(_retry_after(answer), pause)
        if time.monotonic() + wait > ends_at:
            raise fault
        yield Sleep(wait * random.uniform(0.8, 1.2))  # noqa: S311 - not a secret
        pause = min(pause * 2, LONGEST_PAUSE)


def _checked(answer: Answer) -> Answer:
    if answer.status >= 400:
        raise _refusal(answer)
    return answer


def _refusal(answer: Answer) -> Refused:
    problem = answer.data if isinstance(answer.data, dict) else {}
    return Refused(answer.status, problem)


def _still_working(answer: Answer) -> bool:
    """Answer True if the first request with this idempotency key has no outcome yet."""
    return answer.status == 409 and _refusal(answer).code == "still-working"


def _retry_after(answer: Answer) -> float:
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isdigit() else 0.0
