"""Work on one thread under a lease: its record, positions, and what stands in between steps."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ..wire import api
from ..wire.errors import (
    Cancelled,
    ClientError,
    Expired,
    LeaseLost,
    Refused,
    Rejected,
    StartOver,
    Stop,
)
from ..wire.flow import Flow
from ..wire.settings import Settings
from .turn import wait_for_turn

Json = dict[str, Any]
logger = logging.getLogger("gatepost_client")


class Work:
    """A thread that this process works on.

    The state is the record: `steps` holds what each finished step answered under its name
    ("load", "load 2", ...). A fork, a rollback or an edit of the state changes which steps are
    finished and what they answer, and needs nothing else.
    """

    def __init__(
        self, thread: str, settings: Settings, describe: Callable[[], Json] | None = None
    ) -> None:
        self.thread = thread
        self.settings = settings
        self.describe = describe  # what is announced with each lease
        self.api = api.LeaseApi(thread, "")
        self.now: Json = {}
        self.state: Json = {}
        self.thoughts: list[str] = []
        self.refusals: Json = {}  # raised in the script and not yet in the state
        self.unsaved: Json = {}  # members of channels that join the state with the next commit
        self.undone: set[str] = set()  # approved calls of a framework that have not been made
        self.decided: Json = {}  # what people decided on calls of a framework, by the call's id
        self.counts: Counter[str] = Counter()
        self.loss: Stop | None = None
        self._suspected = ""

    # ---- the lease ------------------------------------------------------------------------------

    def take(self) -> Flow[None]:
        """Take the lease as soon as this is possible, and read the record."""
        lease = yield from wait_for_turn(self.thread, self.settings, self.describe)
        self.api.token = lease["token"]
        self.now = lease["thread"]
        self.state = lease["state"]
        self.loss = None

    def retake(self) -> Flow[None]:
        """Take the lease again after a wait; raises StartOver where the past has changed."""
        head = self.now["head"]
        self.api.token = ""
        yield from self.take()
        if self.now["head"] != head:
            # Whatever else still works on the old past ends as well.
            self.loss = StartOver("The thread's past changed; the agent begins again.")
            raise self.loss

    def renew(self) -> Flow[None]:
        """Prolong the lease, where there is one; a loss is raised at the next step."""
        token = self.api.token
        if not token:
            return
        try:
            answer = yield from self.api.renew(self.settings.lease_seconds)
        except Refused as error:
            if error.code != "lease-lost" or token != self.api.token:
                return
            if self._suspected != token:
                self._suspected = token  # a call on its way may have given the lease back
            else:
                self.loss = _loss(error)
        else:
            self.now["wish"] = answer["thread"]["wish"]
            self.now["pause_at"] = answer["thread"]["pause_at"]

    def release(self, status: str, reason: str = "", *, patience: float = 300) -> Flow[None]:
        """Leave the thread in a status."""
        answer = yield from self._under_lease(self.api.release(status, reason, patience=patience))
        self.now = answer["thread"]
        self.api.token = ""

    def successor(self) -> Work:
        """The work of an agent that begins again under the same lease."""
        new = Work(self.thread, self.settings, self.describe)
        new.api, new.now, new.state = self.api, self.now, self.state
        self.api = api.LeaseApi(self.thread, "")
        return new

    # ---- steps ----------------------------------------------------------------------------------

    def name_call(self, name: str) -> str:
        """The position of the next call of this name: "load", "load 2", ..."""
        self.counts[name] += 1
        return name if self.counts[name] == 1 else f"{name} {self.counts[name]}"

    def is_recorded(self, key: str) -> bool:
        """Answer True if a finished step has this name."""
        return key in self.state.get("steps", {})

    def answer(self, key: str) -> Any:
        """The answer of a finished step; thoughts on the way to it are on record already."""
        self.thoughts.clear()
        return self.state["steps"][key]

    def inputs(self, key: str) -> str:
        """The hash of a finished step's arguments; empty where a person wrote its answer."""
        return str(self.state.get("step_inputs", {}).get(key, ""))

    def has_later(self, name: str) -> bool:
        """Answer True if a later call of this name is recorded."""
        prefix, count = f"{name} ", self.counts[name]
        keys = [key for key in self.state.get("steps", {}) if key.startswith(prefix)]
        numbers = [key[len(prefix) :] for key in keys]
        return any(number.isdigit() and int(number) > count for number in numbers)

    def keep(self, key: str, result: Any, inputs: str = "") -> None:
        """Let an answer join the state with the next commit."""
        self.unsaved.setdefault("steps", {})[key] = result
        if inputs:
            self.unsaved.setdefault("step_inputs", {})[key] = inputs

    def refused(self, key: str, verdict: Mapping[str, Any], *, expired: bool) -> ClientError:
        """The error for what people refused; it joins the record with the next step."""
        names = ("comment", "by", "what_next")
        refusal = {name: str(verdict.get(name) or "") for name in names}
        self.refusals[key] = {**refusal, "expired": expired}
        return _refusal(self.refusals[key])

    def refuse_again(self, key: str) -> None:
        """Raise what people refused here, where the agent continued without it."""
        if refusal := self.state.get("refusals", {}).get(key):
            raise _refusal(refusal)

    def boundary(self, node: str, key: str) -> Flow[None]:
        """Look whether the work may continue with a node: not lost, not to be paused, not held.

        Raises Rejected or Expired where people refused what a policy has them approve.
        """
        if self.loss is not None:
            raise self.loss
        if self.now["wish"] == "pause" or self.now["pause_at"] == node != "":
            yield from self.release("paused", "A person asked for a pause.")
            logger.warning("Paused before %s; waiting to be resumed.", node)
            yield from self.retake()
        elif self.now["wish"] == "stop":
            yield from self.release("queued", "A breaker stops it.")
            logger.warning("A breaker stops it before %s; waiting for the release.", node)
            yield from self.retake()
        before = f"before {key}"
        self.refuse_again(before)
        while self.now.get("policies_name_nodes"):
            begun = yield from self.call(self.api.begin_node(node, before, self.step))
            if begun["do"] == "refused":
                verdict = {**begun, "comment": begun["reason"]}
                raise self.refused(before, verdict, expired=not begun["by"])
            if begun["do"] not in ("wait", "stop"):
                return
            logger.warning("Waiting before %s: %s", node, begun["reason"])
            yield from self.retake()

    def commit(self, node: str, delta: Mapping[str, Any], taken: Sequence[int] = ()) -> Flow[None]:
        """Make a step part of the record."""
        merge = dict(delta.get("merge", {}))
        if self.refusals:
            merge["refusals"] = {**self.refusals, **merge.get("refusals", {})}
        for channel, members in self.unsaved.items():
            merge[channel] = {**members, **merge.get(channel, {})}
        full = {**delta, "merge": merge} if merge else dict(delta)
        answer = yield from self.call(
            self.api.commit(node, full, step=self.step, taken=taken, thoughts=self.thoughts)
        )
        self.refusals, self.unsaved = {}, {}
        self.thoughts = []
        for channel, members in merge.items():
            self.state.setdefault(channel, {}).update(members)
        self.state.update(full.get("set", {}))
        if answer["thread"]["status"] != "running":
            logger.warning("Paused after %s; waiting to be resumed.", node)
            yield from self.retake()

    def read_messages(self, wait: float) -> Flow[list[Json]]:
        """Read the messages that no step has taken; wait this number of seconds for the first."""
        ends_at = time.monotonic() + wait
        after = None
        while True:
            left = max(0.0, ends_at - time.monotonic())
            news = yield from api.read_next(
                self.thread,
                token=self.api.token,
                after=after,
                wait=0 if after is None else min(left, api.POLL_SECONDS),
            )
            if news["messages"] or left < 1 or news["do"] != "work":
                return cast("list[Json]", news["messages"])
            after = int(news["seq"])

    @property
    def step(self) -> int:
        """The number of the step in progress."""
        return int(self.now["step"]) + 1

    def call(self, flow: Flow[Json]) -> Flow[Json]:
        """Perform a call under the lease and note what the thread is afterwards."""
        answer = yield from self._under_lease(flow)
        self.now = answer["thread"]
        return answer

    def _under_lease(self, flow: Flow[Json]) -> Flow[Json]:
        if self.loss is not None:
            raise self.loss
        try:
            return (yield from flow)
        except Refused as error:
            if error.code == "lease-lost":
                self.loss = _loss(error)
                raise self.loss from None
            raise


def _refusal(refusal: Mapping[str, Any]) -> ClientError:
    if refusal["expired"]:
        return Expired(refusal["comment"] or "Nobody decided in time.")
    return Rejected(refusal["comment"], refusal["by"], refusal["what_next"] or "go_on")


def _loss(error: Refused) -> Stop:
    if error.problem.get("thread_status") == "cancelled":
        return Cancelled("A person cancelled the thread.")
    return LeaseLost(
        "This process no longer holds the thread's lease: it stood still for too long, or a person "
        "took the thread away. What it does is no longer recorded; start it again."
    )
