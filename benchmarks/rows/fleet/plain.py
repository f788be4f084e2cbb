"""`python -m benchmarks.rows.fleet.plain SOCKETS SECONDS BYTES`: what a server could send at most.

Prints its port, takes so many sockets, and writes one message that is ready to all of them, on and
on for so many seconds: one call of the transport for each, no hub, no protocol. Then it rests, and
writes a frame of so many bytes to all BURSTS times with a pause before each, as a commit does; the
line of JSON that follows has the time at which each burst began, by its number.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import cast

import uvloop

_HELLO = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
BURSTS, PAUSE = 20, 0.4  # bursts, seconds before each
FULL = 65_536  # bytes that wait for a socket: it gets no more until they are gone


def framed(text: bytes) -> bytes:
    """A message as a server sends it."""
    size = len(text)
    return bytes([129, size if size < 126 else 126]) + (size.to_bytes(2) * (size >= 126)) + text


FIRST = framed(b'{"type":"frame","topic":"plain","seq":1,"regions":{}}')
FRAME = b'{"type":"frame","topic":"plain","seq":%d,"regions":{"plain":"%s"}}'
PROGRESS = framed(b'{"type":"progress","topic":"plain","done":1,"total":1000000,"text":"going"}')


class Socket(asyncio.Protocol):
    """Answers the handshake, and the first message with a frame."""

    def __init__(self, open: list[asyncio.Transport]) -> None:
        self.open, self.greeted = open, False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        transport = self.transport
        if not self.greeted:
            self.greeted = True
            transport.write(_HELLO)
        elif transport not in self.open:
            transport.write(FIRST)
            self.open.append(transport)


def _write(open: list[asyncio.Transport], message: bytes) -> None:
    for transport in open:
        if transport.get_write_buffer_size() < FULL:
            transport.write(message)


async def main(sockets: int, seconds: float, size: int) -> None:
    """Serve, then write to all."""
    open: list[asyncio.Transport] = []
    server = await asyncio.get_running_loop().create_server(lambda: Socket(open), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    while len(open) < sockets:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        _write(open, PROGRESS)
        await asyncio.sleep(0)
    print("written", flush=True)
    await asyncio.sleep(1)
    begun = {}
    for number in range(2, BURSTS + 2):
        frame = framed(FRAME % (number, b"x" * max(0, size - len(FRAME))))
        await asyncio.sleep(PAUSE)
        begun[number] = time.time()
        _write(open, frame)
    print(json.dumps(begun), flush=True)
    await asyncio.sleep(60)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
