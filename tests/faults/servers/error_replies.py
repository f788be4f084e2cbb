"""A TCP port in front of Valkey's socket that answers commands with an error while it is told to.

It reads what clients send as the protocol says, so that each command gets its one answer. What was
asked before an error began (a BRPOP that waits) is answered with it too, on a server connection
that is then made anew.
"""

from __future__ import annotations

import select
import socket
import threading
from dataclasses import dataclass
from pathlib import Path


@dataclass(eq=False)
class _Line:
    client: socket.socket
    server: socket.socket
    text: bytes = b""
    owed: int = 0  # commands that the server has not answered; pushed messages make it no smaller


class ErrorReplies:
    """`begin` an error reply and `end` it; `answered` counts the commands that got one."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._error: bytes | None = None
        self._closed = False
        self.answered = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def begin(self, reply: str) -> None:
        """From now on each command is answered with this error."""
        self._error = f"-{reply}\r\n".encode()

    def end(self) -> None:
        """From now on the server answers again."""
        self._error = None

    def close(self) -> None:
        """No new connections; the old ones end."""
        self._closed = True
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _server(self) -> socket.socket:
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self._target))
        return server

    def _serve(self, client: socket.socket) -> None:
        line = _Line(client, self._server())
        try:
            while not self._closed:
                if self._error is not None and line.owed:
                    self._refuse_owed(line, self._error)
                ready, _, _ = select.select([line.client, line.server], [], [], 0.05)
                if line.server in ready and not self._from_server(line):
                    return
                if line.client in ready and not self._from_client(line):
                    return
        except OSError:
            pass
        finally:
            line.client.close()
            line.server.close()

    def _refuse_owed(self, line: _Line, error: bytes) -> None:
        """Whoever waits hears the error; the server's late answer goes nowhere."""
        line.server.close()
        line.server = self._server()
        line.client.sendall(error * line.owed)
        self.answered += line.owed
        line.owed = 0

    def _from_server(self, line: _Line) -> bool:
        data = line.server.recv(1 << 20)
        if not data:
            return False
        line.owed = max(0, line.owed - _answers(data))
        line.client.sendall(data)
        return True

    def _from_client(self, line: _Line) -> bool:
        data = line.client.recv(1 << 20)
        if not data:
            return False
        line.text += data
        while (end := _end_of_command(line.text)) is not None:
            command, line.text = line.text[:end], line.text[end:]
            if (error := self._error) is not None:
                line.client.sendall(error)
                self.answered += 1
            else:
                line.owed += 1
                line.server.sendall(command)
        return True


def _end_of_command(text: bytes) -> int | None:
    """Where the first whole command (an array of bulk strings) ends; None: more is to come."""
    head, result, _ = text.partition(b"\r\n")
    if not result:
        return None
    at = len(head) + 2
    for _ in range(int(head[1:])):
        size, result, _ = text[at:].partition(b"\r\n")
        if not result:
            return None
        at += len(size) + 2 + int(size[1:]) + 2
        if len(text) < at:
            return None
    return at


def _answers(data: bytes) -> int:
    """About how many answers these bytes hold: one a read is enough for clients that wait."""
    return max(1, sum(data.count(mark) for mark in (b"\r\n+", b"\r\n:")) + 1)
