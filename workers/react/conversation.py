"""The state of a conversation with a model; messages are only ever added."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from pydantic import ConfigDict, Field, with_config

from checkpoints.state import deltas

from ..authoring.graph import Append, Decimal, State, Sum, plain
from ..authoring.messages import StoredMessages

CHANNEL: Final = "messages"
SUMMARY_WORDS: Final = (
    "Summary of the first {count} messages of this conversation, which are not shown:\n\n{text}"
)
CHARACTERS_PER_TOKEN: Final = 4


@with_config(ConfigDict(extra="forbid"))
class CallMessage(TypedDict):
    """A call of a tool in a message of the assistant."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    raw: NotRequired[str]
    error: NotRequired[str]


@with_config(ConfigDict(extra="forbid"))
class Message(TypedDict):
    """One message: of a person, of the model, or the result of a tool that the model called."""

    role: Literal["user", "assistant", "tool"]
    content: str
    tool_calls: NotRequired[list[CallMessage]]
    tool_call_id: NotRequired[str]


class Summary(State):
    """What a model wrote about the first `messages` messages; it is shown in their place."""

    text: str
    messages: int
    model: str = ""


class Conversation(State):
    """The state of `react`. Start with a `goal`, or with `messages`.

    `answer` is the model's last text without calls of tools, `stopped` why there is none.
    `context_tokens` is how much the model was last shown.
    """

    goal: str = ""
    messages: Annotated[list[Message], Append()] = []
    # The mark lets readers of the state find it (dashboard.documents.state_document).
    summary: Summary | None = Field(default=None, json_schema_extra={"x-summary-of": CHANNEL})
    answer: str = ""
    stopped: str = ""
    tokens: Annotated[int, Sum()] = 0
    cost: Annotated[str, Decimal()] = "0"
    context_tokens: int = 0

    @property
    def summarised(self) -> int:
        """The number of messages that the summary covers."""
        return 0 if self.summary is None else self.summary.messages


def open_calls(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The calls of the model's last message that have no result yet."""
    answered = set()
    for message in reversed(messages):
        if message["role"] == "tool":
            answered.add(message.get("tool_call_id"))
        elif message["role"] == "assistant":
            return [c for c in message.get("tool_calls", ()) if c["id"] not in answered]
    return []


def turns(messages: Sequence[Mapping[str, Any]]) -> int:
    """Count the model's answers since a person last wrote."""
    count = 0
    for message in reversed(messages):
        if message["role"] == "user":
            break
        count += message["role"] == "assistant"
    return count


def shown_messages(state: Conversation, new: Sequence[Message]) -> StoredMessages:
    """The messages that the model is shown: the summary, then those that it does not cover."""
    start = state.summarised
    messages = [plain(dict(message)) for message in (*state.messages[start:], *new)]
    shown = in_order(messages)
    if state.summary is not None:
        text = SUMMARY_WORDS.format(count=start, text=state.summary.text)
        shown.insert(0, {"role": "user", "content": text})
    record = {
        CHANNEL: {"channel": CHANNEL, "from": start, "to": start + len(messages)},
        "sha256": hashlib.sha256(deltas.canonical(shown)).hexdigest(),
    }
    return StoredMessages(shown, record)


def in_order(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with each result behind its call, as providers demand.

    What a person wrote while tools worked stands between them in the state.
    """
    result: list[dict[str, Any]] = []
    late: list[dict[str, Any]] = []
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "user" and waiting:
            late.append(message)
            continue
        result.append(message)
        if message["role"] == "assistant":
            waiting = {call["id"] for call in message.get("tool_calls", ())}
        elif message["role"] == "tool":
            waiting.discard(message.get("tool_call_id", ""))
        if not waiting:
            result += late
            late = []
    return result + late


def cut(messages: Sequence[Mapping[str, Any]], keep: int) -> int:
    """Count the messages that can be summarised: all but `keep`, no call without its result."""
    at = len(messages) - keep
    while at > 0 and (messages[at]["role"] == "tool" or open_calls(messages[:at])):
        at -= 1
    return max(0, at)


def estimated_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    """About how many tokens messages have, for models that do not count them."""
    return len(deltas.canonical(list(messages))) // CHARACTERS_PER_TOKEN
