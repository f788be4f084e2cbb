"""One call of a model's server: time limits, HTTP errors, answers cut off, keys kept out of errors.

An error carries the server's status and headers, so that the retry policy waits as Retry-After says
(workers.step.retries). A time-out or a cut answer is asked again: a model changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import httpx2

from ..step.secret_values import MASK
from ..step.token_stream import TokenStream
from .failures import BadAnswer, ModelFailed
from .sse import Fold, broken_off, events

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 300.0  # until the first piece, and between two of them
MESSAGE_MAX = 300
# Keys as the common providers form them, should a server repeat another one than ours.
_KEYS = re.compile(r"\b(sk|pk|rk|key|gsk|xai|AIza)[-_A-Za-z0-9]{12,}|(?i:bearer\s+)\S+")


def masked(text: str, key: str) -> str:
    """A text of somebody's server without keys."""
    return _KEYS.sub(MASK, text.replace(key, MASK) if key else text)


def ask(
    url: str, body: Mapping[str, Any], *, headers: Mapping[str, str], key: str, fold: Fold
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """As `post`, with the answer in pieces, shown as they come; a server may send it whole."""
    tokens = TokenStream()
    with (
        httpx2.Client(timeout=_limits(), follow_redirects=False) as client,
        client.stream(
            "POST", url, json={**body, "stream": True}, headers=dict(headers)
        ) as response,
    ):
        sent = response.headers.get("content-type", "")
        if response.status_code != 200 or not sent.startswith("text/event-stream"):
            response.read()
            return _whole(response, key)
        for event in events(response.iter_lines()):
            try:
                fold.add(event)
            except ModelFailed as error:
                raise ModelFailed(masked(str(error), key), error.status_code, {}) from None
            except (KeyError, IndexError, TypeError, AttributeError):
                raise BadAnswer("The model's server sent a piece of no answer.") from None
            tokens.grow(fold.text)
        if not fold.is_complete:
            raise broken_off()
        return fold.whole, response.headers


def post(
    url: str, body: Mapping[str, Any], *, headers: Mapping[str, str], key: str
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """(the answer's object, its headers) of one request.

    Raises ModelFailed, BadAnswer, and httpx2's own errors where no whole answer came. Redirects are
    not followed: the key would go elsewhere.
    """
    with httpx2.Client(timeout=_limits(), follow_redirects=False) as client:
        return _whole(client.post(url, json=body, headers=dict(headers)), key)


def _limits() -> httpx2.Timeout:
    return httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)


def _whole(response: httpx2.Response, key: str) -> tuple[dict[str, Any], Mapping[str, str]]:
    """The answer's object and headers; ModelFailed or BadAnswer for what is none."""
    if response.status_code != 200:
        raise ModelFailed(
            f"The model's server answered {response.status_code}: "
            f"{masked(message_of(response.text), key)}",
            response.status_code,
            response.headers,
        )
    try:
        value = response.json()
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise BadAnswer("The model's server answered with something else than a JSON object.")
    return value, response.headers


def message_of(text: str) -> str:
    """The message of an error's body, in one line: `error.message` or `message`."""
    try:
        body = json.loads(text)
        error = body.get("error", body)
        text = error["message"] if isinstance(error, dict) else error
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    line = " ".join(str(text).split())
    return line if len(line) <= MESSAGE_MAX else f"{line[:MESSAGE_MAX]}…"
