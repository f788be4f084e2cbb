"""The socket of a page: who it is, what it follows. What it sees comes from the hub."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from typing import Any
from uuid import UUID

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from checkpoints.errors import NotFound
from dashboard.identity.visitors import login_key, visitor
from dashboard.wire import topics

from . import process, regions
from .frames import Outbox, event_of
from .hub import NOT_ALLOWED, SIGNED_OUT, TOO_MANY
from .served import Member, Want

MAX_TEXT = 32_000
PING = '{"type":"ping"}'
PONG = event_of({"type": "pong"})
MAX_REGIONS, MAX_TOPICS = 40, 12
BAD_REQUEST = 4400


class OtherWorkspace(ValueError):
    """The page shows another workspace than its login acts in now."""


class BadJoin(ValueError):
    """A message that no page of ours sends."""


def read_join(text: str | None, *, workspace: UUID) -> dict[topics.Topic, Want]:
    """Parse a join message; raises BadJoin.

    {"type": "join", "workspace": id or none, "regions": [{"id", "topic"}], "topics": {name: newest
    number shown}, "mark": "number:digest" of what the page was made from, "inflates": whether it
    takes deflated frames}. Raises OtherWorkspace where the page shows another one.
    """
    try:
        if text is None or len(text) > MAX_TEXT:
            raise BadJoin("too long")
        message = json.loads(text)
        if not isinstance(message, dict) or message.get("type") != "join":
            raise BadJoin("not a join")
        if message.get("workspace") and message["workspace"] != str(workspace):
            raise OtherWorkspace
        seqs = dict(message.get("topics") or {})
        query: dict[str, dict[str, str]] = defaultdict(dict, {str(name): {} for name in seqs})
        entries = message.get("regions") or []
        if len(entries) > MAX_REGIONS:
            raise BadJoin("too many regions")
        for entry in entries:
            name, region = str(entry["topic"]), str(entry["id"])
            query[name][region] = str(entry.get("mark") or "")
            if "seq" in entry:
                seqs.setdefault(name, entry["seq"])
        if len(query) > MAX_TOPICS:
            raise BadJoin("too many topics")
        made, _, shown = str(message.get("mark") or "").partition(":")
        wants = {}
        for name, ids in query.items():
            topic = topics.parse(name, workspace=workspace)
            known = regions.of_topic(topic.kind)
            if not ids.keys() <= known:
                raise BadJoin(f"no region {sorted(ids.keys() - known)[0][:80]!r} of {name[:80]!r}")
            seq = _seq(seqs.get(name))
            # After a frame the page shows something newer than what it was made from.
            wants[topic] = Want(
                frozenset(ids),
                seq,
                marks={region: mark for region, mark in ids.items() if mark},
                shown=shown if str(seq) == made else "",
                inflates=message.get("inflates") is True,
            )
    except (BadJoin, OtherWorkspace):
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadJoin("what it sent names no topics with their regions") from error
    return wants


def _seq(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


class Socket(AsyncWebsocketConsumer):  # type: ignore[misc]
    """A socket of ours, which says why it ends."""

    async def end(self, code: int, reason: str) -> None:
        """Send the reason and close."""
        await self.base_send(event_of({"type": "closed", "reason": reason}))
        await self.close(code)


class LiveConsumer(Socket):
    """Accepts who is signed in, checks each topic, then leaves the socket to the hub."""

    member: Member | None = None

    async def connect(self) -> None:
        key = login_key(self.scope["headers"])
        hub = await process.hub()
        actor = await hub.in_thread(process.tidy(visitor), key) if key else None
        await self.accept()
        if actor is None:
            await self.end(SIGNED_OUT, "You are signed out.")
            return
        if not actor.roles:
            await self.end(NOT_ALLOWED, "You have no role in this workspace.")
            return
        if 0 < settings.GATEPOST_SOCKETS_PER_LOGIN <= hub.sockets_of(key):
            await self.end(TOO_MANY, "Too many pages of this login are open. Close some.")
            return
        member = Member(key, actor, Outbox(self.base_send, broken=self._broken))
        self.member, self.hub = member, hub
        hub.enter(member)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        member = self.member
        if member is None or member not in self.hub.members:
            return
        if text_data == PING:
            await self.base_send(PONG)
            return
        try:
            wants = read_join(text_data, workspace=member.reader.workspace)
        except OtherWorkspace:
            self.hub.close(member, NOT_ALLOWED, "You are in another workspace now.")
            return
        except BadJoin as error:
            self.hub.close(member, BAD_REQUEST, f"This page asked for something unknown: {error}")
            return
        try:
            wants = await self.hub.in_thread(process.tidy(_resolve), wants)
        except NotFound:
            self.hub.close(member, NOT_ALLOWED, "This page shows something you may not see.")
            return
        self.hub.join(member, wants)

    async def disconnect(self, code: int) -> None:
        if self.member is not None:
            self.hub.leave(self.member)

    def _broken(self) -> None:
        if self.member is not None:
            # Not inside the loop over members that found it broken.
            asyncio.get_running_loop().call_soon(self.hub.leave, self.member)


def _resolve(wants: dict[topics.Topic, Want]) -> dict[topics.Topic, Want]:
    """The same topics as found in the reader's workspace; raises NotFound."""
    return {regions.resolve(topic): want for topic, want in wants.items()}
