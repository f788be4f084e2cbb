"""A client of the voice socket, as a page or a script is one, for tests."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

LATE = 15.0  # seconds; generous, since the machine may be busy


class Talker:
    """One socket of a conversation; what came that was not asked for yet waits in `heard`."""

    def __init__(
        self,
        server: str,
        name: str,
        *,
        agent: str = "voiced",
        token: str = "",
        key: str = "",
        origin: str = "",
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if key:
            headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={key}"}
        address = server.replace("http://", "ws://")
        self.stack = ExitStack()
        line = connect(
            f"{address}/voice/{agent}/{quote(name)}/",
            origin=None if token else Origin(origin or server),
            additional_headers=headers,
            compression=None,
            proxy=None,
            open_timeout=LATE,
        )
        self.line: ClientConnection = self.stack.enter_context(line)
        self.heard: list[dict[str, Any]] = []

    def __enter__(self) -> Talker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.stack.close()

    def send(self, kind: str, **values: Any) -> None:
        self.line.send(json.dumps({"type": kind, **values}))

    def message(self, *kinds: str, seconds: float = LATE) -> dict[str, Any]:
        """The next message of one of these kinds; others are kept in `heard`."""
        limit = time.monotonic() + seconds
        while True:
            message: dict[str, Any] = json.loads(
                self.line.recv(max(limit - time.monotonic(), 0.01))
            )
            if message["type"] in kinds:
                return message
            self.heard.append(message)

    def join(self, first: int = 1, answers: int = 0) -> dict[str, Any]:
        """Join, and read all that is played back: the message `ready`."""
        self.heard.clear()
        self.send("join", **{"from": first, "answers": answers})
        return self.message("ready")

    def say(self, number: int, text: str, **more: Any) -> dict[str, Any]:
        """What an utterance is answered: `buffered` or `refused`."""
        self.send("say", number=number, text=text, **more)
        return self.message("buffered", "refused")

    def recorded(self, number: int) -> None:
        """Wait until the utterances up to a number are recorded.

        Word of it may come before any answer, and then stands in `heard`.
        """
        while all(m["type"] != "recorded" or m["number"] < number for m in self.heard):
            self.heard.append(self.message("recorded"))

    def played(self, kind: str = "utterance") -> list[tuple[int, str]]:
        """(number, text) of what was played back."""
        return [(m["number"], m["text"]) for m in self.heard if m["type"] == kind]

    def drain(self, seconds: float) -> None:
        """Read until the line is cut."""
        while True:
            self.line.recv(seconds)

    def closed(self, *, seconds: float = LATE) -> tuple[int, str]:
        """(close code, reason) of the goodbye."""
        reason = str(self.message("closed", seconds=seconds)["reason"])
        with pytest.raises(ConnectionClosed) as end:
            self.drain(seconds)
        assert end.value.rcvd is not None
        return end.value.rcvd.code, reason
