"""One agent at work on one thread, from its start by name to its end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from ..wire import api
from ..wire.errors import (
    Cancelled,
    ClientError,
    Ended,
    LeaseLost,
    Refused,
    StartOver,
    Stop,
    Suspended,
    Waiting,
)
from ..wire.flow import Call, Flow, Sleep
from ..wire.settings import Settings
from ..wire.transports import Closed
from .values import recordable
from .work import Work

logger = logging.getLogger(__name__)
Json = dict[str, Any]
RESULT = "result"
GOODBYE_SECONDS = 3.0


class Execution:
    """An agent's process at work: takes the thread, calls the agent, reports how it ended."""

    def __init__(
        self,
        settings: Settings,
        invoke: Callable[[Work], Any],
        describe: Callable[[], Json] | None = None,
    ) -> None:
        self.settings = settings
        self._describe = describe
        self.work: Work | None = None
        self._invoke = invoke

    def start(self, body: Mapping[str, Any]) -> Flow[Any]:
        """Start the thread of that name, or continue it; answers what the agent returned."""
        thread = yield from api.start_thread(body)
        return (yield from self.resume(str(thread["id"])))

    def resume(self, thread: str) -> Flow[Any]:
        """Work on a thread until it ends."""
        work = Work(thread, self.settings, self._describe)
        try:
            yield from work.take()
        except Ended as error:
            if error.status != "succeeded":
                raise
            return (yield from api.read_state(thread)).get(RESULT)
        while True:
            self.work = work
            try:
                return (yield from self._attempt(work))
            except StartOver:
                work = work.successor()

    def _attempt(self, work: Work) -> Flow[Any]:
        try:
            result = recordable((yield Call(self._invoke, (work,))), "What the agent returned")
            yield from work.commit("end", {"set": {RESULT: result}})
        except Suspended as suspended:
            raise Waiting(suspended.reason) from None
        except Stop:
            raise
        except Exception as error:
            try:
                yield from work.release("failed", f"{type(error).__name__}: {error}")
            except Refused as refused:
                # An effect began and is not settled: who takes the lease next stops for a person.
                logger.warning("The thread keeps its lease until it expires: %s", refused)
            raise
        except BaseException:  # Ctrl-C, sys.exit, a cancelled task: somebody else may continue
            yield from self._hand_back(work)
            raise
        yield from work.release("succeeded")
        return result

    def _hand_back(self, work: Work) -> Flow[None]:
        try:
            yield from work.release("queued", "The process was stopped.", patience=GOODBYE_SECONDS)
        except Exception:
            return  # its lease expires

    def keep_lease(self, on_loss: Callable[[], object]) -> Flow[None]:
        """Renew the lease for as long as the work lasts; log when it is lost."""
        while True:
            try:
                yield Sleep(self.settings.lease_seconds / 3)
            except Closed:
                return
            if self.work is None:
                continue
            try:
                yield from self.work.renew()
            except ClientError:
                pass  # the server is away: the next step waits for it
            except Closed:
                return
            if isinstance(self.work.loss, (LeaseLost, Cancelled)):
                on_loss()
