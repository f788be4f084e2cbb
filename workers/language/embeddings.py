"""Texts become vectors: calls of a server that speaks OpenAI's protocol of embeddings.

GATEPOST_EMBEDDINGS names the model as GATEPOST_MODEL names one (`workers.language.configuration`):

    openai:text-embedding-3-small              OpenAI, key in OPENAI_API_KEY
    openai:e5-small@http://127.0.0.1:8080/v1   a server of one's own, no key
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, Final

import httpx2

from checkpoints.limits import optional_setting
from checkpoints.outbound.addresses import NotCalled

from ..authoring.errors import StepFailed
from ..step.secret_values import read_secret
from . import openai_chat
from .configuration import model_of
from .endpoints import WireEndpoint
from .transport import masked

SETTING: Final = "GATEPOST_EMBEDDINGS"
PATH: Final = "/embeddings"
SECONDS: Final = 30.0
ANSWER_MAX: Final = 1 << 24  # bytes of an answer that are read
NUMBERS_MAX: Final = 8_192
# Statuses by which a server says that these texts are the trouble, and not the server.
_REFUSES: Final = (400, 413, 422)


class NotEmbedded(Exception):
    """No vectors came of texts; `is_refused`: the server does not take these texts."""

    def __init__(self, text: str, *, is_refused: bool = False) -> None:
        super().__init__(text)
        self.is_refused = is_refused


def model_name() -> str:
    """The model of vectors in full, as the settings name it; "" where there is none."""
    return str(optional_setting(SETTING, ""))


def embed(texts: Sequence[str], *, seconds: float = SECONDS) -> list[bytes]:
    """Vectors of texts, each of the length 1, as float32; raises NotEmbedded."""
    key = ""
    try:
        endpoint = model_of(model_name(), SETTING)
        if not isinstance(endpoint, WireEndpoint) or endpoint.provider != "openai":
            raise StepFailed(f"{SETTING} is not understood: write openai:NAME or openai:NAME@URL.")
        key = read_secret(endpoint.key) if endpoint.key else ""
        return _vectors_of(_ask(endpoint, key, texts, seconds), len(texts))
    except NotEmbedded:
        raise
    except (StepFailed, NotCalled, httpx2.HTTPError, ValueError) as error:
        words = str(error) or type(error).__name__
        raise NotEmbedded(f"The embedding server gave no vectors: {masked(words, key)}") from error


def _ask(endpoint: WireEndpoint, key: str, texts: Sequence[str], seconds: float) -> Any:
    # Loaded with the first call: what only starts needs no connection pools.
    from checkpoints.outbound import connections

    url = endpoint.url.rstrip("/") + PATH
    body = {"model": endpoint.name, "input": list(texts), "encoding_format": "float"}
    with (
        connections.client(url, what="embedding server", timeout=seconds) as client,
        client.stream("POST", url, headers=openai_chat.headers(key), json=body) as response,
    ):
        content = b""
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > ANSWER_MAX:
                raise ValueError("its answer is too long")
        if not response.is_success:
            status = response.status_code
            raise NotEmbedded(
                f"The embedding server answered {status}.", is_refused=status in _REFUSES
            )
    return httpx2.Response(200, content=content).json()


def _vectors_of(answer: Any, count: int) -> list[bytes]:
    """The vectors of an answer in the order of the texts; ValueError for anything else."""
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or len(rows) != count:
        raise ValueError("its answer does not have a vector for each text")
    results: dict[int, bytes] = {}
    for number, row in enumerate(rows):
        numbers = row.get("embedding") if isinstance(row, dict) else None
        if not isinstance(numbers, list) or not 0 < len(numbers) <= NUMBERS_MAX:
            raise ValueError("its answer has no vector")
        index = row.get("index", number)
        results[index if isinstance(index, int) else number] = _unit(numbers)
    if results.keys() != set(range(count)) or len({len(one) for one in results.values()}) > 1:
        raise ValueError("its vectors do not fit the texts")
    return [results[number] for number in range(count)]


def _unit(numbers: list[Any]) -> bytes:
    """A vector of the length 1 as float32; ValueError for what is none."""
    if not all(isinstance(one, int | float) and math.isfinite(one) for one in numbers):
        raise ValueError("its vector has something else than numbers")
    length = math.hypot(*numbers)
    if not length or not math.isfinite(length):
        raise ValueError("its vector has no direction")
    return struct.pack(f"<{len(numbers)}f", *(one / length for one in numbers))
