"""A client of the API for agents that work elsewhere, whatever sends its requests.

A driver is a function `send(method, path, body, headers) -> Answer`: Django's test client, a
library in another language, curl. `path` begins behind `/api/v1`; `body` is JSON or None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

type Driver = Callable[[str, str, Any, Mapping[str, str]], Answer]


@dataclass(frozen=True)
class Answer:
    """What came back: the status, the JSON, headers by their names in lower case."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The code of a problem."""
        return str(self.body["type"]).rpartition(":")[2]


@dataclass
class Agent:
    """An agent that works elsewhere, by plain HTTP steps; it remembers its lease and nothing else.

    `send` is its driver, `people` that of a reviewer.
    """

    send: Driver
    people: Driver
    agent: str = field(default_factory=lambda: f"script-{uuid4().hex[:12]}")
    name: str = "host-1"
    thread: str = ""
    lease: str = ""

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request about the thread, under the lease if there is one."""
        sent = {k.replace("_", "-"): v for k, v in headers.items()}
        if self.lease and "Gatepost-Lease" not in sent:
            sent["Gatepost-Lease"] = self.lease
        return self.send(method, f"/threads/{self.thread}/{path}", body, sent)

    def post(self, path: str, body: Any = None, *, status: int = 200, **headers: str) -> Any:
        """The body of the answer to a POST that has this status."""
        answer = self.call("POST", path, {} if body is None else body, **headers)
        assert answer.status == status, (path, answer)
        return answer.body

    def get(self, path: str) -> Any:
        """The body of the answer to a GET."""
        answer = self.call("GET", path)
        assert answer.status == 200, (path, answer)
        return answer.body

    def start(self, *, status: int = 201, name: str | None = None, **external: Any) -> Any:
        """Start a thread, or find the one of this name."""
        input = external.pop("input", None)
        external.setdefault("tools", {"charge": {}})
        body: dict[str, Any] = {"agent": self.agent, "external": external}
        body |= {} if input is None else {"input": input}
        body |= {} if name is None else {"name": name}
        answer = self.send("POST", "/threads/", body, {})
        assert answer.status == status, answer
        self.thread = answer.body["id"]
        return answer.body

    def take(self, seconds: int = 60) -> Any:
        """Take the lease."""
        result = self.post("lease/", {"name": self.name, "seconds": seconds})
        self.lease = result["token"]
        return result

    def release(self, status: str = "succeeded", **more: Any) -> Any:
        """Give the lease back."""
        return self.post("lease/release/", {"as": status, **more})["thread"]

    def begin(self, key: str, *, kind: str = "effect", node: str = "work", **more: Any) -> Any:
        """Begin an activity."""
        body = {"node": node, "key": key, "kind": kind, "tool": "charge", **more}
        return self.post("activities/begin/", body)

    def settle(self, key: str, *, kind: str = "effect", node: str = "work", **more: Any) -> Any:
        """Settle an activity."""
        body = {"node": node, "key": key, "kind": kind, "tool": "charge", "state": "done", **more}
        return self.post("activities/settle/", body)["activity"]

    def commit(self, step: int, *, status: int = 201, **more: Any) -> Any:
        """Commit a step."""
        return self.post("checkpoints/", {"step": step, **more}, status=status)

    def operate(self, path: str, body: Any) -> Answer:
        """What somebody else does to the thread, who holds no lease."""
        return self.send("POST", f"/threads/{self.thread}/{path}", body, {})

    def decide(self, verdict: str = "approve", **more: Any) -> Any:
        """Let a reviewer decide the thread's only open request."""
        (request,) = self.get("next/")["approvals"]
        path = f"/approvals/{request['id']}/decide/"
        body = {"verdict": verdict, "proposal_hash": request["proposal_hash"], **more}
        answer = self.people("POST", path, body, {})
        assert answer.status == 200, answer
        return answer.body
