"""A conversation with an agent: one thread, found by name; what people say and the agent answers.

All calls here block: the socket makes them in threads of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from checkpoints import queries, store
from checkpoints.durabilities import TTL_DEFAULT
from checkpoints.ephemeral import copies
from checkpoints.errors import NotFound
from checkpoints.hot import persistence
from checkpoints.hot import utterances as buffers
from checkpoints.hot.utterances import Buffer, Utterance
from checkpoints.limits import AGENT_MAX, NAME_MAX
from checkpoints.queries.conversations.utterances import last_utterance, recorded_utterances
from checkpoints.queries.why import awaited_signals
from checkpoints.state.encrypted import is_envelope
from checkpoints.states import TAKES_INPUT
from checkpoints.views import AgentRow, ThreadRow
from dashboard.errors import Conflict, Forbidden, Invalid, translated
from dashboard.fields.message import message_of
from dashboard.fields.validation import check_message, check_sent, check_text, is_blank
from dashboard.html.conversation import channel_of
from dashboard.identity import tokens
from dashboard.identity.permissions import Actor, actor_of, closed, refuse_beyond, require
from dashboard.identity.visitors import login_key, visitor
from dashboard.kit import second_person
from dashboard.threads.signal import SIGNAL
from dashboard.threads.start import start_thread

RIGHT: Final = "input"
# Rows of one look at what is to be played back.
PLAYED: Final = 200
_SCHEME: Final = "bearer "


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread that people talk with, and where what they say goes: input, signal or memory."""

    thread: ThreadRow
    version: AgentRow
    target: str


@translated()
def person(headers: Iterable[tuple[bytes, bytes]]) -> Actor:
    """The person behind a socket, with the roles of this moment; raises Forbidden.

    Where a token was sent it alone counts, as in the API.
    """
    pairs = list(headers)
    sent = next((value.decode("latin-1") for name, value in pairs if name == b"authorization"), "")
    if sent.lower().startswith(_SCHEME):
        try:
            actor = actor_of(*tokens.presented(sent[len(_SCHEME) :].strip()))
        except tokens.Refused as error:
            raise Forbidden(str(error)) from error
    else:
        key = login_key(pairs)
        login = visitor(key) if key else None
        if login is None:
            raise Forbidden("You are signed out.")
        actor = login
    require(actor, RIGHT)
    return actor


@translated()
def open_conversation(actor: Actor, agent: str, name: str) -> tuple[Conversation, Buffer]:
    """The conversation of this name with an agent; begun where there is none.

    Raises Invalid, Forbidden, Conflict where the hot store would not keep what it acknowledges.
    """
    check_text("$.agent", agent, AGENT_MAX, required=True)
    check_text("$.name", name, NAME_MAX, required=True)
    if why := persistence.refusal():
        raise Conflict(why)
    known = thread_of(actor, agent, name)
    ident = known.id if known else start_thread(actor, agent=agent, input={}, name=name)
    result = look(actor, ident)
    buffer = buffers.find_buffer(ident)
    if buffer is None:
        number, seq = last_utterance(ident)
        if result.target == "memory":
            number = max(number, copies.last_utterance(ident))
        buffer = buffers.open_buffer(ident, recorded=number, seq=seq)
    return result, buffer


def thread_of(actor: Actor, agent: str, name: str) -> ThreadRow | None:
    """The thread of this name with an agent; one without a name is known by its id."""
    known = queries.thread_named(name, agent=agent, workspace=actor.workspace)
    if known is not None:
        return known
    try:
        row = queries.thread(UUID(name), workspace=actor.workspace)
    except (ValueError, NotFound):
        return None
    return row if row.agent == agent else None


@translated()
def look(actor: Actor, thread_id: UUID) -> Conversation:
    """The conversation as it is now; raises Conflict for a thread that nobody talks with."""
    thread = queries.thread(thread_id, workspace=actor.workspace)
    version = queries.agent_version(thread.agent_version_id)
    if thread.erased is not None:
        raise Conflict(closed(thread.erased), status=str(thread.status))
    target = "input" if thread.message_channel else "signal"
    if thread.is_ephemeral:
        target = "memory"
    if thread.is_ephemeral and not thread.message_channel:
        raise Conflict(f"{thread.agent} takes no messages: its graph names no message channel.")
    refuse_beyond(thread, "signal" if target == "signal" else "input")
    if target == "signal":
        _refuse_held(thread)
    return Conversation(thread, version, target)


def _refuse_held(thread: ThreadRow) -> None:
    """Refuse to carry by voice what a policy lets somebody else decide about."""
    values = {"name": store.UTTERANCE, "value": {"text": ""}, "expected_version": None}
    if second_person.is_held(thread, "signal", SIGNAL.verb, values):
        raise Forbidden(
            "A policy lets somebody else decide about signals to this thread: send them by hand, "
            "from its page."
        )


def ended(conversation: Conversation) -> str:
    """Explain why the thread takes nothing more, as a sentence; empty while it does."""
    thread = conversation.thread
    if thread.is_ephemeral or thread.status in TAKES_INPUT:
        return ""
    return f"The thread is {thread.status}: it takes nothing more. Start another conversation."


@translated()
def say(
    actor: Actor,
    conversation: Conversation,
    *,
    number: int,
    text: str,
    audio: Mapping[str, Any] | None = None,
) -> bool:
    """Flush an utterance to the buffer; False for one that is there already, word for word.

    Raises Invalid for what the thread cannot take, hot.utterances.Refused for its number.
    """
    thread, version = conversation.thread, conversation.version
    if is_blank(text):
        raise Invalid("$.text", "is required")
    queue, ttl = "", 0
    if conversation.target == "signal":
        value: Any = {"number": number, "text": text}
        schema = awaited_signals(thread).get(store.UTTERANCE) or {}
        check_sent("text", value, schema, workspace=actor.workspace)
    else:
        value, problem = message_of(version, text)
        if problem:
            raise Invalid("$.text", problem)
        check_message(version, value, workspace=actor.workspace)
        if conversation.target == "memory":
            queue, ttl = version.queue, version.ttl or TTL_DEFAULT
    utterance = Utterance(number, conversation.target, value, actor.id, audio, queue, ttl)
    return buffers.add(thread.id, utterance, per_minute=settings.GATEPOST_UTTERANCES_PER_MINUTE)


def is_same(thread_id: UUID, *, number: int, text: str) -> bool:
    """True if an utterance that was recorded long ago had these words."""
    rows = recorded_utterances(thread_id, first=number, limit=1)
    return bool(rows) and rows[0].number == number and words(rows[0].value) == text.strip()


def played_back(thread_id: UUID, *, first: int) -> list[dict[str, Any]]:
    """Utterances from a number on, in order, up to PLAYED; those of the log and then the others."""
    # The buffer first: what is recorded meanwhile is in the log by the time that is read.
    waiting = buffers.utterances_from(thread_id, first, at_most=PLAYED)
    result = {row.number: _played(row.number, row.value, row.audio, row.actor) for row in waiting}
    if not waiting or waiting[0].number > first:
        rows = recorded_utterances(thread_id, first=first, limit=PLAYED)
        result |= {row.number: _played(row.number, row.value, row.audio, row.actor) for row in rows}
    numbers = sorted(result)[:PLAYED]
    return [result[number] for number in numbers]


def _played(number: int, value: Any, audio: Mapping[str, Any] | None, actor: str) -> dict[str, Any]:
    played = {"type": "utterance", "number": number, "text": words(value), "by": actor}
    return played | ({"audio": dict(audio)} if audio else {})


def words(value: Any) -> str:
    """The words of an utterance, however its thread takes them."""
    if isinstance(value, Mapping):
        value = value.get("content", value.get("text", ""))
    return str(value).strip()


@translated()
def answers(workspace: UUID, thread_id: UUID, *, after: int) -> list[dict[str, Any]]:
    """The agent's messages behind a number, counted from 1 among all of the conversation."""
    thread = queries.thread(thread_id, workspace=workspace)
    version = queries.agent_version(thread.agent_version_id)
    if thread.is_ephemeral:
        copy = copies.load(thread.id)
        state = copy.state if copy else {}
    else:
        state = queries.state_at(thread.id, thread.head)
    channel = channel_of(version.channels, state, thread.message_channel)
    items = state.get(channel) if channel else None
    if not isinstance(items, list) or is_envelope(items):
        return []
    return [
        {"type": "answer", "number": index, "text": words(item)}
        for index, item in enumerate(items[after:], after + 1)
        if isinstance(item, Mapping) and item.get("role") == "assistant" and words(item)
    ]
