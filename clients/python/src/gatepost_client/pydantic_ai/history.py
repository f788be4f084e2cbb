"""The messages of Pydantic AI in memory, for runs of any process and any day."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from ..conversations import Conversation
from ..wire.settings import Settings


class MessageHistory:
    """A message history in Gatepost's memory; the token needs the scope `memory`.

    `load()` before a run, `add(result.new_messages())` after it. `scope` and `owner` say whose
    memory it is in. In a function with `@controlled`, call both in a function with `@step`.
    """

    def __init__(
        self,
        name: str,
        *,
        scope: str = "workspace",
        owner: str = "",
        settings: Settings | None = None,
    ) -> None:
        self._conversation = Conversation(name, scope=scope, owner=owner, settings=settings)

    def load(self) -> list[ModelMessage]:
        """Read all messages, the oldest first."""
        messages: list[ModelMessage] = ModelMessagesTypeAdapter.validate_python(
            self._conversation.items()
        )
        return messages

    def add(self, messages: Sequence[ModelMessage]) -> None:
        """Keep messages after the others: all of them or none."""
        self._conversation.add(ModelMessagesTypeAdapter.dump_python(list(messages), mode="json"))

    def clear(self) -> None:
        """Delete all messages."""
        self._conversation.clear()
