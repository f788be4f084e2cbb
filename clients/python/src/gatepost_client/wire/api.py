"""The calls of the API for agents that work elsewhere, one flow each; see /api/docs/."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlencode
from uuid import uuid4

from .errors import Refused
from .flow import Answer, Flow
from .requests import request

Json = dict[str, Any]
POLL_SECONDS = 25
ACCEPTED = 202  # kept, and not done before somebody has agreed
BEGUN_MAX = 1_000  # calls under way whose time is kept; of older ones it is not reported


def start_thread(body: Mapping[str, Any]) -> Flow[Json]:
    """Start a thread, or find the one of that name."""
    return _object((yield from request("POST", "/threads/", body)))


def read_thread(thread: str) -> Flow[Json]:
    """Read what a thread is now."""
    return _object((yield from request("GET", f"/threads/{thread}/")))


def read_state(thread: str) -> Flow[Json]:
    """Read the state at a thread's head."""
    answer = yield from request("GET", f"/threads/{thread}/state/")
    return cast("Json", answer.data["state"])


def reveal_channel(thread: str, channel: str, checkpoint: str = "") -> Flow[Any]:
    """Read the value of an encrypted channel, at the head or at a checkpoint."""
    body = {"channel": channel, **({"checkpoint": checkpoint} if checkpoint else {})}
    answer = yield from request("POST", f"/threads/{thread}/reveal/", body, keyed=False)
    return answer.data["value"]


def send_signal(thread: str, name: str, value: Any, agent: str = "") -> Flow[Json]:
    """Send a signal to a thread by its id, or with `agent` by its name.

    Raises Refused, also where a policy lets somebody else decide on it first: it is not sent yet.
    """
    path, body = f"/threads/{thread}/signals/", {"name": name, "value": value}
    if agent:
        path, body = "/signals/", {"agent": agent, "thread": thread, **body}
    answer = yield from request("POST", path, body)
    if answer.status == ACCEPTED:
        raise Refused(answer.status, answer.data)
    return _object(answer)


def remember(body: Mapping[str, Any]) -> Flow[Json]:
    """Keep a memory."""
    return _object((yield from request("POST", "/memories/", dict(body), keyed=False)))


def list_memories(query: Mapping[str, str]) -> Flow[Json]:
    """List memories of the workspace, or search them."""
    return _object((yield from request("GET", f"/memories/?{urlencode(query)}")))


def change_memory(memory: str, verb: str, body: Mapping[str, Any]) -> Flow[Json]:
    """Correct or forget a memory."""
    return _object((yield from request("POST", f"/memories/{memory}/{verb}/", dict(body))))


def find_thread(agent: str, name: str) -> Flow[Json | None]:
    """Find the thread of an agent by its name."""
    query = urlencode({"agent": agent, "name": name, "limit": 1})
    answer = yield from request("GET", f"/threads/?{query}")
    return cast("Json | None", next(iter(answer.data["results"]), None))


def read_record(thread: str, start: int) -> Flow[Json]:
    """Read a page of what is on record of a thread, from a checkpoint's number on."""
    return _object(
        (yield from request("GET", f"/threads/{thread}/record/?start={start}&limit=200"))
    )


def list_threads(agent: str, cursor: str = "") -> Flow[Json]:
    """List the threads of an agent, a page at a time."""
    query = urlencode({"agent": agent, "limit": 200, "cursor": cursor})
    return _object((yield from request("GET", f"/threads/?{query}")))


def list_queued(agent: str) -> Flow[list[Json]]:
    """List the threads of an agent that wait for somebody to work on them."""
    answer = yield from request("GET", f"/threads/?agent={agent}&status=queued")
    return cast("list[Json]", answer.data["results"])


def request_erasure(thread: str, reason: str) -> Flow[Json]:
    """Request the erasure of a thread's content; a second person has to approve it."""
    body = {"reason": reason, "scope": "thread"}
    return _object((yield from request("POST", f"/threads/{thread}/erasure/", body)))


def read_next(
    thread: str, *, token: str = "", after: int | None = None, wait: float = 0
) -> Flow[Json]:
    """Read what comes next; with `after` wait until the log is beyond that number."""
    query = f"?wait={int(wait)}" + ("" if after is None else f"&after={after}")
    answer = yield from request(
        "GET", f"/threads/{thread}/next/{query}", headers=_lease(token), timeout=wait + 30
    )
    return _object(answer)


def take_lease(
    thread: str, *, owner: str, seconds: float, announced: Mapping[str, Any] | None = None
) -> Flow[Json]:
    """Take the right to work on a thread; raises Refused while somebody else has it.

    `announced` is the agent's announcement, which may name more than the thread's start did.
    """
    body: Json = {"name": owner, "seconds": int(seconds)}
    if announced is not None:
        body["external"] = dict(announced)
    answer = yield from request("POST", f"/threads/{thread}/lease/", body)
    return _object(answer)


class LeaseApi:
    """The calls under a lease; each answers what the thread is afterwards."""

    def __init__(self, thread: str, token: str) -> None:
        self.thread = thread
        self.token = token
        # When each call that is under way was let begin, by its place.
        self._began: dict[str, float] = {}

    def renew(self, seconds: float) -> Flow[Json]:
        """Prolong the lease."""
        return self._post("lease/renew/", {"seconds": int(seconds)}, patience=seconds)

    def release(self, status: str, reason: str = "", *, patience: float = 300) -> Flow[Json]:
        """Leave the thread in a status."""
        return self._post(
            "lease/release/", {"as": status, "reason": reason[:2000]}, patience=patience
        )

    def commit(
        self,
        node: str,
        delta: Mapping[str, Any],
        *,
        step: int,
        taken: Sequence[int] = (),
        thoughts: Sequence[str] = (),
    ) -> Flow[Json]:
        """Commit a checkpoint; sent twice it is one, by its id."""
        body: Json = {"id": str(uuid4()), "step": step, "nodes": [node], "delta": delta}
        if taken:
            body["taken"] = list(taken)
        if thoughts:
            body["thoughts"] = [{"node": node, "text": text} for text in thoughts]
        return self._post("checkpoints/", body, keyed=False)

    def commit_point(self, body: Mapping[str, Any]) -> Flow[Json]:
        """Commit a checkpoint under an id and a parent of the framework's own."""
        return self._post("checkpoints/", dict(body), keyed=False)

    def record(self, records: Sequence[Json], checkpoint: str | None) -> Flow[Json]:
        """Record values at the step after a checkpoint, else after the head."""
        where = {} if checkpoint is None else {"checkpoint": checkpoint}
        return self._post("activities/record/", {**where, "records": list(records)})

    def begin_effect(
        self, position: Json, tool: str, args: Json, gate: Json | None, step: int
    ) -> Flow[Json]:
        """Ask whether an effect may be made now; the answer consumes its approval."""
        body = {**position, "step": step, "kind": "effect", "tool": tool, "args": args}
        return self._begin(body | ({"gate": gate} if gate else {}))

    def begin_node(self, node: str, key: str, step: int) -> Flow[Json]:
        """Ask whether the work of a node may begin now."""
        body = {"node": node, "key": key, "step": step, "kind": "node", "tool": node}
        return self._post("activities/begin/", body)

    def settle_effect(
        self, position: Json, tool: str, outcome: Mapping[str, Any], step: int
    ) -> Flow[Json]:
        """Report the outcome of an effect."""
        return self._settle({**position, "step": step, "kind": "effect", "tool": tool, **outcome})

    def verify(self) -> Flow[Json]:
        """Have the thread's past computed again: whether it is `intact`."""
        return self._post("verify/", {})

    def begin_call(self, position: Json, kind: str, tool: str, args: Json, step: int) -> Flow[Json]:
        """Ask whether a pure call is to be made, or is on record."""
        return self._begin({**position, "step": step, "kind": kind, "tool": tool, "args": args})

    def settle_call(
        self, position: Json, kind: str, tool: str, outcome: Mapping[str, Any], step: int
    ) -> Flow[Json]:
        """Report the outcome of a pure call; `outcome` holds its `args` as well."""
        return self._settle({**position, "step": step, "kind": kind, "tool": tool, **outcome})

    def _begin(self, body: Json) -> Flow[Json]:
        answer = yield from self._post("activities/begin/", body)
        if isinstance(answer, dict) and answer.get("do") == "call":
            if len(self._began) >= BEGUN_MAX:
                del self._began[next(iter(self._began))]  # the oldest: nobody settled it
            self._began[_call_key(body)] = time.monotonic()
        return answer

    def _settle(self, body: Json) -> Flow[Json]:
        """Report an outcome with the time since the call was let begin, unless it says its own."""
        began = self._began.pop(_call_key(body), None)
        usage = body.get("usage") or {}
        if began is not None and body["state"] != "unknown":
            took = round((time.monotonic() - began) * 1000)
            body = {**body, "usage": {"milliseconds": took, **usage}}
        return (yield from self._post("activities/settle/", body))

    def settle_undo(self, activity: str, outcome: Mapping[str, Any]) -> Flow[Json]:
        """Report the outcome of the undo of an effect."""
        return self._post(f"activities/{activity}/undo/", dict(outcome))

    def ask(self, position: Json, question: Mapping[str, Any], step: int) -> Flow[Json]:
        """Ask people; the same question at the same position answers what they said."""
        return self.ask_all([{**position, "question": dict(question)}], step)

    def ask_all(self, queries: Sequence[Json], step: int | None = None) -> Flow[Json]:
        """Ask people several things together, each at its position; without `step` in the next."""
        where = {} if step is None else {"step": step}
        return self._post("approvals/", {**where, "ask": list(queries)})

    def _post(
        self, path: str, body: Json, *, patience: float = 300, keyed: bool = True
    ) -> Flow[Json]:
        answer = yield from request(
            "POST",
            f"/threads/{self.thread}/{path}",
            body,
            headers=_lease(self.token),
            patience=patience,
            keyed=keyed,
        )
        return _object(answer)


def _call_key(body: Json) -> str:
    return repr((body.get("node"), body.get("index"), body.get("key"), body["step"]))


def _lease(token: str) -> dict[str, str]:
    return {"Gatepost-Lease": token} if token else {}


def _object(answer: Answer) -> Json:
    return cast("Json", answer.data)
