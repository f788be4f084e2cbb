"""Threads for the nodes of one step; their ledger calls are made by the thread that started them.

Only the engine's thread has a connection. A node's thread puts each of its calls into a queue and
waits for the answer; in between the engine's thread does nothing but make these calls.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextvars import copy_context
from tempfile import SpooledTemporaryFile
from typing import Any, Final, cast

from django.conf import settings
from django.db import connections

from ..authoring.errors import Stop
from ..step.ledger import Ledger

SPOOLED_BYTES: Final = 4 * 1024 * 1024
READ_BYTES: Final = 256 * 1024
_END: Final = object()


class NodeThreads:
    """Runs tasks in threads of their own, at most `at_once` of them at the same time.

    `on_pause` is called when one has ended and the others have been at work for `pause` seconds
    since.
    """

    def __init__(self, at_once: int, *, pause: float, on_pause: Callable[[], None]) -> None:
        self._at_once = at_once
        self._pause = pause
        self._on_pause = on_pause
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed: BaseException | None = None
        self._starts = True

    def start_no_more(self) -> None:
        """Leave out the tasks that have not begun."""
        self._starts = False

    def run(self, tasks: Iterable[Callable[[], None]]) -> None:
        """Run the tasks and make their calls until all that began have ended.

        A task must keep its own outcome and raise nothing. Raises what `on_pause` raises, and what
        a call raises that is neither an error nor a stop of a node; later calls are refused then.
        """
        waiting, working = deque(tasks), 0
        due: float | None = None
        lost: BaseException | None = None
        try:
            while True:
                while waiting and working < self._at_once and self._starts and lost is None:
                    try:
                        self._start(waiting[0])
                    except RuntimeError:
                        if not working:
                            raise
                        self._at_once = working  # the machine gives no more threads just now
                        break
                    waiting.popleft()
                    working += 1
                if not working:
                    break
                try:
                    item = self._next(due)
                    if item is _END:
                        working -= 1
                        due = due or time.monotonic() + self._pause
                    elif item is None:
                        due = None
                        if lost is None:
                            self._on_pause()
                    else:
                        item()
                except BaseException as error:
                    lost = lost or error
                    self._close(error)
                    if isinstance(error, KeyboardInterrupt | SystemExit):
                        break  # the process ends: nobody waits for its threads
        finally:
            self._close(lost or Stop())
        if lost is not None:
            raise lost

    def ledger(self, behind: Ledger) -> Ledger:
        """The ledger for use in these threads."""
        return cast("Ledger", _HandedOver(self, behind))

    def call(self, function: Callable[[], Any]) -> Any:
        """The answer of a call that the engine's thread makes."""
        answer: Future[Any] = Future()

        def make() -> None:
            try:
                answer.set_result(function())
            except (Exception, Stop) as error:
                answer.set_exception(error)
            except BaseException as error:
                answer.set_exception(error)
                raise

        with self._lock:
            if self._closed is not None:
                raise self._closed
            self._queue.put((make, answer))
        return answer.result()

    def _start(self, task: Callable[[], None]) -> None:
        def work() -> None:
            try:
                copied.run(task)
            finally:
                if settings.configured:
                    connections.close_all()
                self._queue.put(_END)

        copied = copy_context()
        # A daemon: one that hangs must not hold up the end of the process.
        threading.Thread(target=work, name="gatepost-node", daemon=True).start()

    def _next(self, due: float | None) -> Any:
        """The next call, _END, or None when `due` has come."""
        left = None if due is None else due - time.monotonic()
        if left is not None and left <= 0:
            return None
        try:
            item = self._queue.get(timeout=left)
        except queue.Empty:
            return None
        return item if item is _END else item[0]

    def _close(self, error: BaseException) -> None:
        """Refuse all calls from now on, and those that wait, so that no node waits for ever."""
        with self._lock:
            if self._closed is not None:
                return
            self._closed = error
            left = []
            while not self._queue.empty():
                left.append(self._queue.get_nowait())
            for item in left:
                if item is _END:
                    self._queue.put(item)
                else:
                    item[1].set_exception(error)


class _HandedOver:
    """A ledger in a node's thread: the engine's thread makes its calls."""

    def __init__(self, threads: NodeThreads, behind: Ledger) -> None:
        self._threads = threads
        self._behind = behind

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._behind, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._threads.call(lambda: function(*args, **kwargs))

        self.__dict__[name] = call
        return call

    def artifact(self, work: Any, name: str, media_type: str, chunks: Iterable[bytes]) -> Any:
        """Keep a file; its chunks are made here, since they may take as long as they like."""
        with SpooledTemporaryFile(SPOOLED_BYTES) as file:
            for chunk in chunks:
                file.write(chunk)
            file.seek(0)
            again = iter(lambda: file.read(READ_BYTES), b"")
            return self._threads.call(lambda: self._behind.artifact(work, name, media_type, again))
