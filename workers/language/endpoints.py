"""Models behind servers: their keys, the names of tools on the way, and what a call costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from ..authoring.language_models import Reply, Request
from ..step.secret_values import read_secret
from . import anthropic_messages, openai_chat, tool_names
from .prices import price
from .transport import ask, post

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

    @abstractmethod
    def _answer(self, request: Request, name: str, key: str) -> tuple[Reply, int]:
        """(the reply without its price, tokens that the provider's cache stored)."""


class WireEndpoint(Endpoint):
    """A model behind a server that speaks one of the two protocols."""

    def _answer(self, request: Request, name: str, key: str) -> tuple[Reply, int]:
        """Ask over HTTP; raises what workers.language.transport does."""
        wire = WIRES[self.provider]
        url = self.url.rstrip("/") + wire.PATH
        body = wire.body(request, name)
        more: dict[str, Any] = {"headers": wire.headers(key), "key": key}
        if self.stream:
            value, headers = ask(url, body | wire.STREAMED, fold=wire.Fold(), **more)
        else:
            value, headers = post(url, body, **more)
        answer: tuple[Reply, int] = wire.reply(value, headers)
        return answer
