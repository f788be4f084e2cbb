"""An answer put together from what a server sends, the same for each wire.

Texts are kept in pieces and joined once, so that a long answer takes linear time. Its size is
bounded by GATEPOST_MODEL_ANSWER_BYTES.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from checkpoints.limits import model_answer_bytes

from ..authoring.language_models import Reply
from ..authoring.messages import tool_call
from .answer_parts import OddUsage, Tokens, clean, short
from .failures import BadAnswer, ModelFailed, ServerError, error_in, failure_of


class Fold(ABC):
    """A wire's way to put an answer together.

    `has_pieces` once any object came, `has_begun` once a piece of an answer did, `is_complete` once
    the server ended it, `finish` is its word for why. `shown` is the text of the newest piece.
    """

    protocol: str

    def __init__(self) -> None:
        self.id = ""
        self.model = ""
        self.finish = ""
        self.has_pieces = False
        self.has_begun = False
        self.is_complete = False
        self.shown = ""
        self.reasoning: list[str] = []
        self.usage: dict[str, Any] = {}
        self.size = 0
        self.replaced = 0  # characters that no record can hold
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self.limit = model_answer_bytes()

    # ---- pieces --------------------------------------------------------------------------------

    def take(self, event: Mapping[str, Any]) -> str:
        """Take the next object of the answer; the text that it adds.

        Raises BadAnswer and ModelFailed.
        """
        self.shown = ""
        self.has_pieces = self.has_pieces or bool(event)
        try:
            self.add(event)
        except (KeyError, IndexError, TypeError, AttributeError):
            raise BadAnswer("The model's server sent a piece of no answer.") from None
        return self.shown

    @abstractmethod
    def add(self, event: Mapping[str, Any]) -> None:
        """Take the whole answer or its next piece."""

    def name_answer(self, identity: Any, model: Any) -> None:
        """Take the answer's id and the name of the model, where a piece has them."""
        self.id, self.model = short(identity) or self.id, short(model) or self.model

    def add_text(self, text: str) -> None:
        """Take a piece of the answer's text."""
        if text:
            self._texts.append(text)
            self.shown += text
            self.add_size(text)

    def add_reasoning(self, text: str) -> None:
        """Take a piece of what the model thought."""
        if text:
            self.reasoning.append(text)
            self.add_size(text)

    def add_refusal(self, text: Any) -> None:
        """Take a piece of why the model refuses."""
        if isinstance(text, str) and text:
            self._refusals.append(text)
            self.add_size(text)

    def add_size(self, text: str) -> None:
        """Count what came; BadAnswer at the limit."""
        self.size += len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if self.size > self.limit:
            raise too_large(self.limit)

    def begins(self, content: Any) -> bool:
        """True if a whole answer begins as the pieces did: then it is the same answer again."""
        return (
            self.has_content
            and isinstance(content, str)
            and len(content) >= sum(map(len, self._texts))
            and content.startswith(self.text)
        )

    def clear(self) -> None:
        """Forget all pieces of the answer."""
        self._texts, self.reasoning, self._refusals, self.size = [], [], [], 0

    def failed(self, error: Any, status: int) -> ModelFailed:
        """The failure of an answer that ends with an error in place of a reason."""
        about = error if isinstance(error, Mapping) else {"message": error or "no reason"}
        known = error_in({"error": about}) or ServerError("no reason")
        return failure_of(
            ServerError(known.message, known.status or status, known.seconds), {}, is_amid=True
        )

    # ---- the answer ----------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._texts)

    @property
    def has_content(self) -> bool:
        """True once the model wrote something."""
        return bool(self._texts or self._refusals or self.reasoning)

    @abstractmethod
    def tokens(self) -> Tokens:
        """The counts of the usage; OddUsage."""

    @abstractmethod
    def calls(self) -> list[tuple[str, str, str]]:
        """(id, name, arguments as the model wrote them) of each call of a tool."""

    @abstractmethod
    def request_id(self, headers: Mapping[str, str]) -> str:
        """The id by which the provider knows the request."""

    def reply(self, headers: Mapping[str, str]) -> tuple[Reply, int]:
        """(the reply without its price, tokens that the cache stored); odd usage is unknown."""
        try:
            tokens = self.tokens()
            if tokens.read + tokens.written > tokens.tokens_in:
                raise OddUsage("cached_tokens")
        except OddUsage:
            tokens = Tokens()
        refusal = "".join(self._refusals)
        answer = Reply(
            self._clean(refusal or self.text),
            model=self.model,
            tokens_in=tokens.tokens_in,
            tokens_out=tokens.tokens_out,
            tool_calls=tuple(
                tool_call(short(identity), short(name), self._clean(arguments))
                for identity, name, arguments in self.calls()
            ),
            finish_reason="refusal" if refusal else short(self.finish),
            tokens_cached=tokens.read,
            tokens_reasoning=tokens.reasoning,
            request_id=short(self.request_id(headers)),
            reasoning=self._clean("".join(self.reasoning)),
        )
        return answer, tokens.written

    def _clean(self, text: str) -> str:
        result, replaced = clean(text)
        self.replaced += replaced
        return result


def too_large(limit: int) -> BadAnswer:
    """The error of an answer above the limit."""
    return BadAnswer(
        f"The model's answer is larger than {limit:,} bytes and was not read to its end. Ask for "
        "less (max_tokens), or set GATEPOST_MODEL_ANSWER_BYTES."
    )
