"""`python -m benchmarks.rows.fleet.watchers PORT COOKIE SOCKETS JOIN`: many sockets of one process.

All follow what the message JOIN asks for; the last one stops reading when it has joined. A line
"report" on stdin is answered with a line of JSON: frames and reports of progress that have come
since the last one, by their numbers and by sockets, and the HTML of one region of each. The
protocol is parsed by hand: a library would take more of the processor than the server that is
measured.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import socket
import sys
import time
from collections import defaultdict
from typing import Any, cast

import uvloop

from benchmarks.frames import Messages

_SEQ = re.compile(rb'"seq":(\d+)')
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
REGION = "thread-head"
AT_ONCE = 50  # handshakes under way


class Seen:
    """Messages that all sockets of this process have received since the last report."""

    def __init__(self) -> None:
        self.joined = 0
        self.closed = 0
        self.messages = Messages()
        self.clear()

    def clear(self) -> None:
        """Begin to count again."""
        self.frames: dict[int, list[float]] = defaultdict(list)
        # Alike sockets get the same bytes: each is read once, when all is over.
        self.payloads: dict[int, dict[bytes, None]] = defaultdict(dict)
        self.bytes = self.progress = 0
        self.first = self.last = 0.0

    def report(self) -> dict[str, Any]:
        """Times are seconds since 1970, as the database's."""
        return {
            "joined": self.joined,
            "closed": self.closed,
            "frames": self.frames,
            "html": {
                seq: [self.messages.read(one)["regions"].get(REGION, "") for one in payloads]
                for seq, payloads in sorted(self.payloads.items())
            },
            "bytes": self.bytes,
            "progress": self.progress,
            "first": self.first,
            "last": self.last,
        }


class Watcher(asyncio.Protocol):
    """One socket: handshake, join, then it notes what comes."""

    def __init__(self, seen: Seen, hello: bytes, join: bytes, *, reads: bool) -> None:
        self.seen, self.hello, self.join, self.reads = seen, hello, join, reads
        self.rest = b""
        self.open = False
        self.ready = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self.hello)

    def connection_lost(self, exc: Exception | None) -> None:
        self.seen.closed += 1
        if not self.ready.done():
            self.ready.set_exception(exc or ConnectionError("closed before it had joined"))

    def data_received(self, data: bytes) -> None:
        data = self.rest + data if self.rest else data
        if not self.open:
            head, ends, data = data.partition(b"\r\n\r\n")
            if not ends:
                self.rest = head
                return
            if b" 101 " not in head.partition(b"\r\n")[0]:
                self.ready.set_exception(ConnectionError(head[:200].decode()))
                return
            self.open = True
            self.transport.write(masked(TEXT, self.join))
        at, size = 0, len(data)
        while size - at >= 2:
            begin, length = at + 2, data[at + 1] & 127
            if length >= 126:
                wide = 2 if length == 126 else 8
                begin, length = begin + wide, int.from_bytes(data[begin : begin + wide])
            if size < begin or size - begin < length:
                break
            self.message(data[at] & 15, data[begin : begin + length])
            at = begin + length
        self.rest = data[at:]

    def message(self, kind: int, text: bytes) -> None:
        """Note a message; answer a ping."""
        if kind == PING:
            self.transport.write(masked(PONG, text))
        if kind not in (TEXT, BINARY):
            return
        now, seen = time.time(), self.seen
        seen.bytes += len(text)
        if text.startswith(b'{"type":"progress"'):
            seen.progress += 1
            seen.first = seen.first or now
            seen.last = now
        elif (match := _SEQ.search(text, 0, 200)) and text.startswith(b'{"type":"frame"'):
            seen.frames[int(match[1])].append(now)
            seen.payloads[int(match[1])][text] = None
            if not self.ready.done():
                seen.joined += 1
                self.ready.set_result(None)
                if not self.reads:
                    self.transport.pause_reading()


def masked(kind: int, text: bytes) -> bytes:
    """A frame as a client sends it; the mask is zero, which changes nothing."""
    size = len(text)
    head = bytes([128 | kind, 128 | (size if size < 126 else 126)])
    return head + (size.to_bytes(2) if size >= 126 else b"") + bytes(4) + text


async def main(port: int, cookie: str, sockets: int, join: str) -> None:
    """Open all sockets, say so, and answer until stdin ends."""
    seen, loop = Seen(), asyncio.get_running_loop()
    key = base64.b64encode(os.urandom(16)).decode()
    hello = (
        f"GET /ws/live/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
        f"Cookie: {cookie}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    ).encode()
    gate = asyncio.Semaphore(AT_ONCE)

    async def enter(number: int) -> None:
        reads = number < sockets - 1
        async with gate:
            link = socket.create_connection(("127.0.0.1", port))
            if not reads:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            link.setblocking(False)
            _, watcher = await loop.create_connection(
                lambda: Watcher(seen, hello, join.encode(), reads=reads), sock=link
            )
            await asyncio.wait_for(watcher.ready, 120)

    async with asyncio.TaskGroup() as group:
        for number in range(sockets):
            group.create_task(enter(number))
    reader = asyncio.StreamReader(limit=2**16)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    print(json.dumps(seen.report()), flush=True)
    while await reader.readline():
        print(json.dumps(seen.report()), flush=True)
        seen.clear()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]))
