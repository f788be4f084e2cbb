"""Providers that the two wires do not reach, asked through pydantic-ai (the extra `models`).

It is imported when such a model is asked, so nobody else needs it. It translates messages and
answers only: keys, retries, prices, names of tools and the record are those of the wires.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import httpx2

from checkpoints.outbound import addresses

from ..authoring.errors import ConversationGone, StepFailed
from ..authoring.language_models import Reply, Request
from ..step.answer_notes import keep_answer
from ..step.answers import result_of
from ..step.token_stream import TokenStream
from . import transport
from .endpoints import Endpoint
from .failures import BadAnswer, BrokenOff, ModelFailed, message_of
from .provider_forms import details_of, messages_of, parameters_of, reply_of

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model


class Provider(NamedTuple):
    """The variable of a provider's key, and the part of pydantic-ai that brings its client.

    Without a variable the client finds credentials by itself, as those of AWS do.
    """

    key: str
    part: str


PROVIDERS = {
    "alibaba": Provider("ALIBABA_API_KEY", "openai"),
    "bedrock": Provider("", "bedrock"),
    "cerebras": Provider("CEREBRAS_API_KEY", "openai"),
    "cohere": Provider("CO_API_KEY", "cohere"),
    "deepseek": Provider("DEEPSEEK_API_KEY", "openai"),
    "fireworks": Provider("FIREWORKS_API_KEY", "openai"),
    "google": Provider("GOOGLE_API_KEY", "google"),
    "google-cloud": Provider("", "google"),
    "groq": Provider("GROQ_API_KEY", "groq"),
    "huggingface": Provider("HF_TOKEN", "huggingface"),
    "mistral": Provider("MISTRAL_API_KEY", "mistral"),
    "moonshotai": Provider("MOONSHOTAI_API_KEY", "openai"),
    "nebius": Provider("NEBIUS_API_KEY", "openai"),
    "openai-chat": Provider("OPENAI_API_KEY", "openai"),
    "openai-responses": Provider("OPENAI_API_KEY", "openai"),
    "openrouter": Provider("OPENROUTER_API_KEY", "openai"),
    "ovhcloud": Provider("OVHCLOUD_API_KEY", "openai"),
    "sambanova": Provider("SAMBANOVA_API_KEY", "openai"),
    "together": Provider("TOGETHER_API_KEY", "openai"),
    "vercel": Provider("VERCEL_AI_GATEWAY_API_KEY", "openai"),
    "zai": Provider("ZAI_API_KEY", "openai"),
}
REQUIREMENT = "pydantic-ai-slim[{part}]>=2.68,<3"
# They hold a conversation by the id of its last answer.
HOLDING = frozenset({"openai-responses"})
# Their libraries make the connections themselves, and take none of ours.
OWN_CONNECTIONS = frozenset({"bedrock", "cohere", "groq", "huggingface"})
NO_KEY = "none"  # without one the client would take that of the environment


class ProviderEndpoint(Endpoint):
    """A model of one of PROVIDERS, or behind an address that speaks as it does."""

    def _answer(self, request: Request, name: str, key: str) -> tuple[Reply, int]:
        holds = self.provider in HOLDING and request.conversation is not None
        previous = (request.conversation or "") if holds else ""
        sent = request.continued if previous else request
        try:
            reply, written = reply_of(result_of(partial(self._ask, sent, name, key, previous)))
        except ImportError as error:
            needed = REQUIREMENT.format(part=PROVIDERS[self.provider].part)
            raise StepFailed(
                f"{self.provider}:{name} needs packages that are not installed here "
                f'({str(error).splitlines()[0]}). Call: pip install "{needed}"'
            ) from None
        except Exception as error:
            failure = _translated(error, key)
            if isinstance(failure, BadAnswer):
                raw = transport.masked(str(getattr(error, "body", None) or error), key)
                keep_answer(str(failure), raw=raw, size=len(raw.encode()))
            if previous and _says_gone(error):
                raise ConversationGone(previous, str(failure)) from None
            raise failure from None
        return (replace(reply, conversation=reply.request_id) if holds else reply), written

    async def _ask(self, request: Request, name: str, key: str, previous: str) -> ModelResponse:
        """Ask once, after the answer `previous` if there is one; raises errors of pydantic-ai."""
        from pydantic_ai import direct
        from pydantic_ai.models import infer_model

        http = self._connections()
        model = infer_model(f"{self.provider}:{name}", partial(self._client, key, http))
        settings = _settings(request, model, self.provider)
        if previous:
            settings["openai_previous_response_id"] = previous
        query: dict[str, Any] = {
            "messages": messages_of(request),
            "model_settings": settings,
            "model_request_parameters": parameters_of(request),
            "instrument": False,
        }
        async with http, model:
            if self.stream:
                return await _streamed(model, query)
            return await direct.model_request(model, **query)

    def _connections(self) -> httpx2.AsyncClient:
        """The client below pydantic-ai's; for a library with one of its own the look comes first.

        Raises httpx2.ConnectError.
        """
        from pydantic_ai.models import create_async_httpx2_client

        from checkpoints.outbound import connections

        judge = connections.judge_of_settings(self.url, transport.SERVER)
        if self.url and self.provider in OWN_CONNECTIONS:
            parts = urlsplit(self.url)
            try:
                judge(parts.hostname or "", parts.port or 443)
            except addresses.NotCalled as error:
                raise httpx2.ConnectError(str(error)) from None
        limits = httpx2.Timeout(transport.ANSWER_SECONDS, connect=transport.CONNECT_SECONDS)
        result: httpx2.AsyncClient = create_async_httpx2_client(
            timeout=limits,
            transport=connections.AsyncCheckedTransport(
                judge, proxy=connections.proxy_of(self.url or "https:")
            ),
        )
        return result

    def _client(self, key: str, http: httpx2.AsyncClient, provider: str) -> Any:
        """Build pydantic-ai's provider: the client with its key and address."""
        from pydantic_ai.providers import infer_provider_class

        kind = infer_provider_class(provider)
        arguments: dict[str, Any] = {"api_key": key} if key else {}
        if provider not in OWN_CONNECTIONS:
            arguments["http_client"] = http
        if self.url:
            if "base_url" not in inspect.signature(kind).parameters:
                raise StepFailed(f"{provider} has one address only: leave out @{self.url}.")
            arguments["base_url"] = self.url
            if PROVIDERS[provider].key:
                arguments.setdefault("api_key", NO_KEY)
        return kind(**arguments)


async def _streamed(model: Model, query: Mapping[str, Any]) -> ModelResponse:
    """The whole answer; its text is shown while it comes."""
    from pydantic_ai import direct
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

    tokens = TokenStream()
    async with direct.model_request_stream(model, **query) as stream:
        async for event in stream:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                tokens.grow(event.part.content)
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                tokens.grow(event.delta.content_delta)
        response = stream.get()
    # Where the provider did not say why it ended, the library makes "stop" of it.
    reasons = {"finish_reason", "refusal"} & details_of(response).keys()
    if response.state != "complete" or not reasons:
        failure, text = BrokenOff(), response.text or ""
        keep_answer(str(failure), raw="", size=len(text.encode()), text=text)
        raise failure
    return response


def _settings(request: Request, model: Model, provider: str) -> dict[str, Any]:
    """Settings of one call; StepFailed for one that this provider would ignore."""
    wanted = {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
        "stop_sequences": list(request.stop) or None,
    }
    values: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    if ignored := values.keys() & model.unsupported_settings:
        name = min(ignored).removesuffix("_sequences")
        raise StepFailed(f"{provider} takes no {name}: leave it out for this model.")
    # Another attempt is the retry policy's matter: the client would hold a worker meanwhile.
    own = {"max_retries": 0, "timeout": transport.ANSWER_SECONDS}
    return values | {k: v for k, v in own.items() if k not in model.unsupported_settings}


def _says_gone(error: Exception) -> bool:
    """Recognize a refusal of a provider that does not know the previous answer."""
    if getattr(error, "status_code", None) not in (400, 404):
        return False
    text = f"{getattr(error, 'body', '')} {error}".lower()
    return "previous_response" in text or "previous response" in text


def _translated(error: Exception, key: str) -> Exception:
    """An error of pydantic-ai as the retry policy and people read those of the wires."""
    from pydantic_ai import exceptions as errors

    body = getattr(error, "body", None) or str(error)
    text = body if isinstance(body, str) else json.dumps(body, default=str)
    words = transport.masked(message_of(text), key)
    statuses: Iterable[tuple[type[Exception], int]] = (
        (errors.ModelRateLimitError, 429),
        (errors.ModelQuotaExceededError, 402),
        (errors.ModelOverloadedError, 529),
        (errors.ModelUnavailableError, 503),
        (errors.ModelServerError, 500),
        (errors.ModelRequestRejectedError, 400),
    )
    status = next((status for kind, status in statuses if isinstance(error, kind)), 0)
    status = getattr(error, "status_code", 0) or status
    if isinstance(error, errors.ModelAPIError) and status:
        seconds = error.retry_after
        headers = {} if seconds is None else {"retry-after": str(seconds)}
        return ModelFailed(f"The model's server answered {status}: {words}", status, headers)
    if isinstance(error, errors.ModelTimeoutError | errors.ModelRequestTimeout):
        return httpx2.ReadTimeout(words)
    if isinstance(error, errors.ModelConnectionError):
        was_sent = error.phase not in ("pool", "connect")
        return (httpx2.RemoteProtocolError if was_sent else httpx2.ConnectError)(words)
    if isinstance(error, errors.ModelAPIError | errors.UnexpectedModelBehavior):
        return BadAnswer(f"The model's server answered what is not an answer: {words}")
    return StepFailed(words) if isinstance(error, errors.UserError) else error
