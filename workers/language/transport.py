"""One call of a model's server: time limits, HTTP errors, answers cut off, keys kept out of errors.

An error carries the server's status and headers, so that the retry policy waits as Retry-After says
(workers.step.retries). A time-out or a cut answer is asked again: a model changes nothing. What
came of an answer that cannot be used is kept as an event (workers.step.answer_notes), with the
tokens that the server counted: it was paid for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import httpx2

from checkpoints.errors import GatepostError
from checkpoints.outbound.event_lines import LongLine

from ..authoring.language_models import Reply, used
from ..step.answer_notes import attach_usage, keep_answer
from ..step.secret_values import MASK
from ..step.token_stream import TokenStream
from .answer_fold import Fold, too_large
from .answer_parts import is_uncounted
from .failures import BadAnswer, BrokenOff, ModelFailed, error_in, failure_of, message_of
from .raw_text import RawText
from .sse import pieces

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 300.0
ERROR_BYTES = 1 << 18
NO_ANSWER = 502  # as if a gateway had failed
# A token of some four characters stands in an event of some 250 bytes.
WIRE_PER_TEXT = 64
LINE_PER_TEXT = 3  # where each character is escaped
SERVER = "model's server"
# Keys as the common providers form them, should a server repeat another one than ours.
_KEYS = re.compile(r"\b(sk|pk|rk|key|gsk|xai|AIza)[-_A-Za-z0-9]{12,}|(?i:bearer\s+)\S+")


def masked(text: str, key: str) -> str:
    """A text of somebody's server without keys."""
    return _KEYS.sub(MASK, text.replace(key, MASK) if key else text)


def ask(
    url: str,
    body: Mapping[str, Any],
    *,
    headers: Mapping[str, str],
    key: str,
    fold: Fold,
    seconds: float = ANSWER_SECONDS,
) -> tuple[Reply, int]:
    """Ask once; (the reply without its price, tokens that the cache stored).

    The text is shown as it comes; `seconds` may pass until its first piece, and between two. Raises
    ModelFailed, BadAnswer, and httpx2's own errors where no whole answer came. Redirects are not
    followed: the key would go elsewhere.
    """
    # Loaded with the first call: what only starts needs no connection pools.
    from checkpoints.outbound import connections

    raw = RawText()
    try:
        with (
            connections.client(url, what=SERVER, timeout=_limits(seconds)) as client,
            client.stream("POST", url, json=dict(body), headers=dict(headers)) as response,
        ):
            if not response.is_success:
                raise _refusal(response, key)
            _read(response, fold, raw, key)
            reply = fold.reply(response.headers)
    except (GatepostError, httpx2.HTTPError) as error:
        if isinstance(error, ModelFailed):
            error.args = (masked(str(error), key),)
        paid = _paid(fold, str(body["model"]))
        if paid:
            attach_usage(error, paid)
        elif isinstance(error, ModelFailed) and error.status_code != NO_ANSWER:
            raise  # the server's words say it all
        if raw.size:
            keep_answer(str(error), raw=masked(raw.text, key), size=raw.size, text=fold.text)
        raise
    if fold.replaced:
        why = f"{fold.replaced} characters of the answer cannot be recorded: each became \ufffd"
        keep_answer(why, raw=masked(raw.text, key), size=raw.size)
    return reply


def _paid(fold: Fold, model: str) -> dict[str, Any]:
    """The usage of an answer that cannot be used: tokens without a price; {} where nothing came."""
    reply, _ = fold.reply({})
    if not fold.has_content and is_uncounted(reply):
        return {}
    return used(replace(reply, model=reply.model or model, cost=None))[1]


def _limits(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=CONNECT_SECONDS)


def _refusal(response: httpx2.Response, key: str) -> ModelFailed:
    """The failure of an answer with another status than success."""
    raw = RawText(ERROR_BYTES)
    for chunk in response.iter_bytes():
        raw.add(chunk)
        if raw.size >= ERROR_BYTES:
            break
    status, headers = response.status_code, response.headers
    values = [piece.value for piece in pieces([raw.text.encode()]) if piece.value]
    error = error_in(values[0], is_refused=True) if values else None
    words = masked(message_of(raw.text), key)
    known = headers
    if error and error.seconds is not None and "retry-after" not in headers:
        known = httpx2.Headers({**headers, "retry-after": str(error.seconds)})
    body = values[0] if values else {}
    return ModelFailed(f"The model's server answered {status}: {words}", status, known, body)


def _read(response: httpx2.Response, fold: Fold, raw: RawText, key: str) -> None:
    """Read the body into the fold, to the server's own end of the answer."""
    tokens = TokenStream()
    damaged = False
    try:
        for piece in pieces(
            _bounded(response, raw, fold.limit), longest=LINE_PER_TEXT * fold.limit
        ):
            if damaged:
                raise BadAnswer("The model's server sent a piece that is not JSON.")
            if piece.is_end:
                fold.is_complete = fold.is_complete or fold.has_begun
                break
            if piece.is_damaged:
                damaged = True  # the last one of an answer that was cut off, or one amid it
                continue
            event = {"error": piece.text} if piece.name == "error" else {}
            event = piece.value or event
            if error := error_in(event, piece.name):
                if fold.is_complete:  # the answer had ended; its counts may come with the error
                    fold.take({name: value for name, value in event.items() if name == "usage"})
                    keep_answer(error.message, raw=masked(raw.text, key), size=raw.size)
                    break
                raise failure_of(error, response.headers, is_amid=fold.has_content)
            if piece.name and "type" not in event:
                event = {**event, "type": piece.name}
            tokens.grow(fold.take(event))
    except LongLine:
        raise too_large(fold.limit) from None
    except httpx2.HTTPError:
        if not fold.is_complete:
            raise
    if fold.is_complete:
        return
    if fold.has_begun or damaged:
        raise BrokenOff
    if raw.text.lstrip("\ufeff \r\n")[:1] not in ("{", "[") and not fold.has_pieces:
        # A portal, a proxy or an empty body: no answer of a model, so another attempt may get one.
        words = message_of(raw.text) if raw.text.strip() else "an empty body"
        raise ModelFailed(
            f"The model's server answered 200 with no answer: {words}", NO_ANSWER, response.headers
        )
    raise BadAnswer(f"The model's server answered no message of {fold.protocol}.")


def _bounded(response: httpx2.Response, raw: RawText, limit: int) -> Iterator[bytes]:
    """The chunks of the body; BadAnswer where it is far larger than its text may be."""
    for chunk in response.iter_bytes():
        raw.add(chunk)
        if raw.size > WIRE_PER_TEXT * limit:
            raise too_large(limit)
        yield chunk
