"""The socket of a conversation: takes utterances by number, acknowledges each, plays them back.

A client sends JSON:

    {"type": "join", "from": 1, "answers": 0}    what it misses: utterances and answers from there
    {"type": "partial", "text": "so far"}        shown as progress, kept nowhere
    {"type": "record", "number": 1, "media_type": "audio/webm"}  its recording follows, in binary
    {"type": "say", "number": 1, "text": "..."}  an utterance, sent again until it is acknowledged

The text of one with a recording may be empty where a server turns speech into text. The client
is answered `joined` (with the `next` number), `utterance` and `answer` for what is played back
and for what comes, `buffered` for each number that is on disk, `recorded` for those that are
events, `refused` with a code and a sentence. `closed` says why the socket ends.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError

from checkpoints import store
from checkpoints.hot.streams import HotStoreAway
from checkpoints.hot.utterances import (
    Buffer,
    NotOpen,
    OtherWords,
    OutOfOrder,
    Refused,
    TooFast,
    TooMany,
    TooOld,
)
from dashboard.errors import ActionError, Conflict, Forbidden, Invalid
from dashboard.identity.permissions import Actor, require
from dashboard.kit.pages.base import words_of
from dashboard.live import process
from dashboard.live.consumers import Socket
from dashboard.live.followers import wait_for_news
from dashboard.live.frames import event_of
from dashboard.wire.progress import publish_progress
from workers.language.transcription import is_configured

from . import conversations
from .conversations import Conversation
from .recordings import Recording

log = structlog.get_logger("gatepost.voice")

NOT_ALLOWED, NOT_POSSIBLE, TOO_MANY, BAD_REQUEST = 4403, 4409, 4429, 4400
# Of a message, beside the text of an utterance.
MESSAGE_MAX: Final = 4_000
ANSWERS_EVERY: Final = 0.2  # seconds at least between two looks at the agent's answers
NODE: Final = "voice"  # under which partial transcripts are shown
AWAY: Final = "The store that keeps utterances does not answer; send this one again."
# Flushes wait for a disk: they have threads of their own, which no page waits for.
_threads: Final = ThreadPoolExecutor(8, thread_name_prefix="voice")
_open: Final[Counter[str]] = Counter()


async def blocking[T](call: Callable[..., T], *args: Any, **more: Any) -> T:
    """Let a thread make a call that waits; it gives its database connection back."""
    tidy = process.tidy(call)
    return await asyncio.get_running_loop().run_in_executor(_threads, lambda: tidy(*args, **more))


def whole(value: Any, *, least: int) -> int:
    """A whole number that a client sent; raises Invalid."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**53:
        raise Invalid("$.number", f"must be a whole number from {least}")
    return value


def line(value: Any) -> str:
    """A text that a client sent; raises Invalid where it is none, or longer than an utterance."""
    if not isinstance(value, str):
        raise Invalid("$.text", "must be text")
    size, limit = len(value.encode(errors="replace")), settings.GATEPOST_UTTERANCE_BYTES
    if size > limit:
        raise Invalid("$.text", f"has {size:,} bytes; an utterance may have {limit:,}")
    return value


class VoiceConsumer(Socket):
    """One socket of one person in one conversation."""

    actor: Actor | None = None
    conversation: Conversation | None = None
    answered = 0  # messages of the conversation that this socket has looked at
    counted = ""  # the person whose socket it is
    recording: Recording | None = None

    async def connect(self) -> None:
        """Accept who may send messages; their rights are looked at again while it is open."""
        self.tasks: set[asyncio.Task[None]] = set()
        self.unrecorded, self.answering = asyncio.Event(), asyncio.Lock()
        await self.accept()
        try:
            actor = await blocking(conversations.person, self.scope["headers"])
        except ActionError as error:
            await self._close(NOT_ALLOWED, error.detail)
            return
        limit = settings.GATEPOST_VOICE_SOCKETS
        if 0 < limit <= _open[actor.person]:
            await self._close(TOO_MANY, f"{limit} conversations are open already. Close one.")
            return
        self.actor, self.counted = actor, actor.person
        _open[self.counted] += 1
        self.hub = await process.hub()
        self._spawn(self._recheck())

    async def disconnect(self, code: int) -> None:
        """Stop looking; the sweep records what was acknowledged and is no event yet."""
        for task in self.tasks:
            task.cancel()
        if self.counted:
            _open[self.counted] -= 1
            if not _open[self.counted]:
                del _open[self.counted]

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Take one message; messages of a socket are handled one after the other."""
        actor, number = self.actor, None
        if actor is None:
            return
        try:
            if bytes_data is not None:
                self._hear(bytes_data)
                return
            message = self._message(text_data)
            number = message.get("number")
            await self._take(message, actor)
        except ActionError as error:
            await self._refuse(error.code, words_of(error), number)
            if self.conversation is None:
                await self._close(NOT_POSSIBLE, words_of(error))
        except Refused as error:
            await self._refuse_number(error, number)
        except (HotStoreAway, OperationalError, InterfaceError):
            await self._refuse("away", AWAY, number)

    def _message(self, text: str | None) -> dict[str, Any]:
        limit = MESSAGE_MAX + 6 * settings.GATEPOST_UTTERANCE_BYTES  # of escapes
        if text is None or len(text) > limit:
            raise Invalid("$", f"is no message of up to {limit:,} characters")
        try:
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Invalid("$", "is not JSON") from error
        if not isinstance(message, dict):
            raise Invalid("$", "must be an object")
        return message

    def _hear(self, chunk: bytes) -> None:
        if self.recording is None:
            raise Invalid("$", "has no utterance: `record` comes before a recording")
        try:
            self.recording.add(chunk)
        except Invalid:
            self.recording = None
            raise

    async def _take(self, message: dict[str, Any], actor: Actor) -> None:
        kind, joined = message.get("type"), self.conversation
        if kind == "join":
            await self._join(message, actor)
        elif joined is None:
            raise Invalid("$.type", "must be join: the first message joins the conversation")
        elif kind == "say":
            await self._say(message, actor, joined)
        elif kind == "record":
            require(actor, "upload")
            number = whole(message.get("number"), least=1)
            self.recording = Recording.begin(number, message.get("media_type"))
        elif kind == "partial":
            # Shown as progress; nothing of it is kept.
            report = {"stream": line(message.get("text")), "node": NODE}
            await blocking(publish_progress, joined.thread.id, joined.thread.workspace, report)
        else:
            raise Invalid("$.type", "must be join, record, say or partial")

    async def _join(self, message: dict[str, Any], actor: Actor) -> None:
        """Play back what the client misses; the utterances, then the agent's answers."""
        first = whole(message.get("from", 1), least=1)
        answered = whole(message.get("answers", 0), least=0)
        joined, buffer = await self._open_conversation(actor)
        self.answered, last = answered, 0
        while True:
            played = await blocking(conversations.played_back, joined.thread.id, first=first)
            for each in played:
                await self._send(each)
                last = each["number"]
            if len(played) < conversations.PLAYED:
                break
            first = played[-1]["number"] + 1
        await self._send_answers(joined)
        # One that another process took meanwhile is played back as well, or is sent again.
        await self._send({"type": "ready", "next": max(buffer.number, last) + 1})
        if not any(task.get_name() == "news" for task in self.tasks):
            self._spawn(self._news(joined), name="news")
            self._spawn(self._record(joined), name="record")
        self.unrecorded.set()

    async def _open_conversation(self, actor: Actor) -> tuple[Conversation, Buffer]:
        names = self.scope["url_route"]["kwargs"]
        joined, buffer = await blocking(
            conversations.open_conversation, actor, names["agent"], names["name"]
        )
        self.conversation = joined
        limits = {
            "bytes": settings.GATEPOST_UTTERANCE_BYTES,
            "per_minute": settings.GATEPOST_UTTERANCES_PER_MINUTE,
            "recording_bytes": settings.GATEPOST_RECORDING_BYTES,
        }
        await self._send(
            {
                "type": "joined",
                "thread": str(joined.thread.id),
                "next": buffer.number + 1,
                "recorded": buffer.recorded,
                "transcribes": is_configured(),
                "limits": limits,
            }
        )
        return joined, buffer

    async def _say(self, message: dict[str, Any], actor: Actor, joined: Conversation) -> None:
        """Acknowledge an utterance once it is on disk; a repeated one gets the same answer."""
        number, text = whole(message.get("number"), least=1), line(message.get("text"))
        thread = joined.thread.id
        if message.get("thread", str(thread)) != str(thread):
            raise Invalid("$.thread", "is another conversation than that of this socket")
        if why := conversations.ended(joined):
            raise Conflict(why)
        recording, self.recording = self.recording, None
        audio: dict[str, Any] | None = None
        if recording is not None and recording.number == number:
            text, audio = await blocking(recording.finish, actor, text)
            await self._send({"type": "heard", "number": number, "text": line(text)})
        more = {"number": number, "text": text, "audio": audio}
        try:
            new = await blocking(conversations.say, actor, joined, **more)
        except NotOpen:
            # A hot store that lost its disk: the numbers continue behind what is recorded.
            await self._open_conversation(actor)
            new = await blocking(conversations.say, actor, joined, **more)
        except TooOld:
            if not await blocking(conversations.is_same, thread, number=number, text=text):
                raise
            new = False
        await self._send({"type": "buffered", "number": number, "again": not new})
        self.unrecorded.set()

    # --- beside what the client sends ------------------------------------------------------------
    async def _record(self, joined: Conversation) -> None:
        """Let utterances become events, right after they were acknowledged."""
        last = 0
        while True:
            await self.unrecorded.wait()
            self.unrecorded.clear()
            try:
                number = await blocking(store.record_utterances, joined.thread.id)
            except (HotStoreAway, OperationalError, InterfaceError) as error:
                log.warning("voice.not_recorded", error=str(error).strip())  # the sweep does it
                continue
            if number > last:
                last = number
                await self._send({"type": "recorded", "number": number})

    async def _news(self, joined: Conversation) -> None:
        """Send the agent's answers as its thread moves."""
        with self.hub.followers.follow(joined.thread.id) as news:
            while True:
                await wait_for_news(news, self.hub.poll_seconds)
                news.clear()
                with suppress(ActionError, OperationalError, InterfaceError):
                    await self._send_answers(joined)
                await asyncio.sleep(ANSWERS_EVERY)

    async def _send_answers(self, joined: Conversation) -> None:
        async with self.answering:
            thread, after = joined.thread, self.answered
            for each in await blocking(
                conversations.answers, thread.workspace, thread.id, after=after
            ):
                self.answered = each["number"]
                await self._send(each)

    async def _recheck(self) -> None:
        """Close the socket of whom the right was taken from, or whose token was revoked."""
        while self.actor is not None:
            await asyncio.sleep(settings.GATEPOST_RECHECK_SECONDS)
            try:
                actor = await blocking(conversations.person, self.scope["headers"])
                if self.actor is None or actor.workspace != self.actor.workspace:
                    raise Forbidden("You are in another workspace now.")
                self.actor = actor
                if joined := self.conversation:
                    thread = joined.thread.id
                    self.conversation = await blocking(conversations.look, actor, thread)
            except ActionError as error:
                self._spawn(self._close(NOT_ALLOWED, error.detail))
                return
            except (OperationalError, InterfaceError):
                continue  # nobody knows; the next look does

    # --- sending ---------------------------------------------------------------------------------
    def _spawn(self, work: Any, *, name: str | None = None) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _send(self, message: dict[str, Any]) -> None:
        try:
            await self.base_send(event_of(message))
        except Exception:  # the socket is gone; whatever it raised, it gets nothing more
            log.debug("voice.gone", exc_info=True)

    async def _refuse(self, code: str, detail: str, number: Any, **facts: Any) -> None:
        about = {"number": number} if isinstance(number, int) else {}
        await self._send({"type": "refused", "code": code, "detail": detail, **about, **facts})

    async def _refuse_number(self, error: Refused, number: Any) -> None:
        match error:
            case OutOfOrder():
                why = f"Number {error.number} comes next; what is between is missing."
                await self._refuse("out-of-order", why, number, expected=error.number)
            case OtherWords() | TooOld():
                why = f"Another utterance has this number; {error.number} comes next."
                await self._refuse("other-words", why, number, expected=error.number)
            case TooMany():
                why = f"{error.number} utterances wait to be recorded; send this one again later."
                await self._refuse("too-many", why, number)
            case TooFast():
                limit = settings.GATEPOST_UTTERANCES_PER_MINUTE
                why = f"{limit} utterances a minute are taken; send this one again in "
                await self._refuse(
                    "too-fast", f"{why}{error.number} s.", number, retry_after=error.number
                )
            case _:
                await self._refuse("away", AWAY, number)

    async def _close(self, code: int, reason: str) -> None:
        self.actor = None
        await self.end(code, reason)
