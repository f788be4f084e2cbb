"""Models behind servers: their keys, the names of tools on the way, and what a call costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from approvals.policies.reservations import Estimate
from checkpoints.state import deltas

from ..authoring.language_models import Reply, Request
from ..step.secret_values import read_secret
from . import anthropic_messages, openai_chat, tool_names
from .prices import price
from .refused_parameters import with_accepted
from .transport import ANSWER_SECONDS, ask

# A token of text is some four bytes; tables of numbers and other scripts have shorter ones.
BYTES_PER_TOKEN = 3
WIRES = {"openai": openai_chat, "anthropic": anthropic_messages}


class Endpoint(ABC):
    """A model of a provider, or of the server at `url`.

    `key` is the variable of its key, `prices` whose prices hold; "" where there is none.
    """

    def __init__(
        self, provider: str, name: str, url: str, prices: str, key: str, *, stream: bool = True
    ) -> None:
        self.provider, self.name, self.url = provider, name, url
        self.prices, self.key, self.stream = prices, key, stream
        # The result cache tells models apart by this.
        self.__qualname__ = f"{provider}:{name}@{url}"

    def __call__(self, request: Request, /) -> Reply:
        """Ask once; raises what `_answer` does."""
        key = read_secret(self.key) if self.key else ""
        request, names = tool_names.sent(request)
        name = request.model or self.name
        reply, written = self._answer(request, name, key)
        reply = replace(reply, model=reply.model or name)
        cost = price(
            self.prices,
            reply.model,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            read=reply.tokens_cached,
            written=written,
        )
        return tool_names.received(replace(reply, cost=cost), names)

    def estimate(self, request: Request) -> Estimate:
        """Estimate the most that a call costs: its input by its length, all of its max_tokens."""
        name = request.model or self.name
        tokens_in = len(deltas.canonical(request.to_json())) // BYTES_PER_TOKEN + 1
        tokens_out = request.max_tokens or self.most_tokens
        if price(self.prices, name, tokens_in=1, tokens_out=1) is None:
            return Estimate(tokens=tokens_in, unpriced=f"{self.provider}:{name}")
        if tokens_out is None:
            return Estimate(tokens=tokens_in)
        cost = price(self.prices, name, tokens_in=tokens_in, tokens_out=tokens_out)
        return Estimate(cost, tokens_in + tokens_out)

    @property
    def most_tokens(self) -> int | None:
        """Tokens at which an answer ends where the request names none; None where nothing does."""
        return getattr(WIRES.get(self.provider), "MAX_TOKENS", None)

    @abstractmethod
    def _answer(self, request: Request, name: str, key: str) -> tuple[Reply, int]:
        """(the reply without its price, tokens that the provider's cache stored)."""


class WireEndpoint(Endpoint):
    """A model behind a server that speaks one of the two protocols.

    `seconds` may pass until the first piece of an answer, and between two.
    """

    seconds = ANSWER_SECONDS

    def _answer(self, request: Request, name: str, key: str) -> tuple[Reply, int]:
        """Ask over HTTP; raises what workers.language.transport does."""
        wire = WIRES[self.provider]
        url = self.url.rstrip("/") + wire.PATH
        body = wire.body(request, name)
        if self.url == openai_chat.URL and "max_tokens" in body:
            body["max_completion_tokens"] = body.pop("max_tokens")  # its newer models' only name
        body |= {"stream": True, **wire.STREAMED} if self.stream else {}

        def send(changed: dict[str, Any]) -> tuple[Reply, int]:
            headers = wire.headers(key)
            return ask(
                url, changed, headers=headers, key=key, fold=wire.Fold(), seconds=self.seconds
            )

        return with_accepted(send, body, (url, name))
