"""Functions called in a forked process, so that the memory of what they import ends with it."""

import json
import os
import signal
import socket
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Self, TextIO

from .folders import EmbeddedError


class ForkedCalls:
    """A process that runs functions for this one, one at a time, until it is closed.

    Arguments and results travel as JSON. Fork before other processes are started: it would keep
    open what belongs to them. Signals to stop are for the starter alone, which closes it.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        ours, theirs = socket.socketpair()
        self._pid = os.fork()
        if not self._pid:
            ours.close()
            _serve(theirs.makefile("rw"), functions)
        theirs.close()
        self._stream = ours.makefile("rw")
        ours.close()

    def call(self, name: str, *arguments: Any) -> Any:
        """Call one of the functions there; raises EmbeddedError with the reason it gives."""
        try:
            _send(self._stream, [name, arguments])
            answer = self._stream.readline()
        except OSError:
            answer = ""
        if not answer:
            raise EmbeddedError(f"{name}: its process ended")
        result = json.loads(answer)
        if "error" in result:
            raise EmbeddedError(result["error"])
        return result["value"]

    def close(self) -> None:
        """End the process; closing again does nothing."""
        if not self._stream.closed:
            with suppress(OSError):  # what could not be sent is still in its buffer
                self._stream.close()
            os.waitpid(self._pid, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve(stream: TextIO, functions: Mapping[str, Callable[..., Any]]) -> None:
    """Answer calls until the starter closes or ends; never returns."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for line in stream:
            name, arguments = json.loads(line)
            try:
                answer = {"value": functions[name](*arguments)}
            except EmbeddedError as error:
                answer = {"error": str(error)}
            except Exception as error:
                traceback.print_exc()
                answer = {"error": f"{name}: {type(error).__name__}"}
            _send(stream, answer)
    finally:
        os._exit(0)


def _send(stream: TextIO, content: object) -> None:
    stream.write(f"{json.dumps(content)}\n")
    stream.flush()
