"""Speech becomes text: one call of a server that speaks OpenAI's protocol of transcriptions.

GATEPOST_SPEECH names the model as GATEPOST_MODEL names one (`workers.language.configuration`):

    openai:whisper-1                           OpenAI, key in OPENAI_API_KEY
    openai:small@http://127.0.0.1:9000/v1      a server of one's own, no key
"""

from __future__ import annotations

from typing import Any, Final

import httpx2
from django.conf import settings

from checkpoints.outbound.addresses import NotCalled

from ..authoring.errors import StepFailed
from ..step.secret_values import read_secret
from . import openai_chat
from .configuration import model_of
from .endpoints import WireEndpoint
from .transport import masked

SETTING: Final = "GATEPOST_SPEECH"
PATH: Final = "/audio/transcriptions"
SECONDS: Final = 60.0
TEXT_MAX: Final = 1 << 20  # bytes of an answer that are read


class NotTranscribed(Exception):
    """No text came of a recording; the sentence says why."""


def is_configured() -> bool:
    """True where a server turns speech into text."""
    return bool(getattr(settings, SETTING, ""))


def transcribe(audio: bytes, *, name: str, media_type: str) -> str:
    """The words of a recording; raises NotTranscribed."""
    key = ""
    try:
        endpoint = model_of(getattr(settings, SETTING, ""), SETTING)
        if not isinstance(endpoint, WireEndpoint) or endpoint.provider != "openai":
            raise StepFailed(f"{SETTING} is not understood: write openai:NAME or openai:NAME@URL.")
        key = read_secret(endpoint.key) if endpoint.key else ""
        result = _ask(endpoint, key, (name, audio, media_type))
    except (StepFailed, NotCalled, httpx2.HTTPError, ValueError) as error:
        words = str(error) or type(error).__name__
        raise NotTranscribed(f"The speech server gave no text: {masked(words, key)}") from error
    return result.strip()


def _ask(endpoint: WireEndpoint, key: str, file: tuple[str, bytes, str]) -> str:
    # Loaded with the first call: what only starts needs no connection pools.
    from checkpoints.outbound import connections

    url = endpoint.url.rstrip("/") + PATH
    with (
        connections.client(url, what="speech server", timeout=SECONDS) as client,
        client.stream(
            "POST",
            url,
            headers=openai_chat.headers(key),
            data={"model": endpoint.name, "response_format": "json"},
            files={"file": file},
        ) as response,
    ):
        body = b""
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > TEXT_MAX:
                raise ValueError("its answer is too long")
        if not response.is_success:
            raise ValueError(f"it answered {response.status_code}")
    return _text_of(body)


def _text_of(body: bytes) -> str:
    answer: Any = httpx2.Response(200, content=body).json()
    text = answer.get("text") if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise ValueError("its answer has no text")
    return text
