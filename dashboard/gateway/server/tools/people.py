"""Tools that ask people, and the one that decides for them.

A request has a thread of its own, named by the caller. Sent again it continues from what the thread
says: nothing is kept between two calls, and a call that was lost can be repeated.
"""

from __future__ import annotations

from typing import Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from checkpoints.limits import TITLE_MAX
from checkpoints.states import FINISHED, Status
from dashboard.approvals.decide import DECIDE
from dashboard.external.answers import RequestNow, ThreadNow

from . import arguments
from .calls import Api, ApiAnswer, ApiCall
from .declared import declared
from .tool import Tool

NODE: Final = "request"
POSITION: Final = {"step": 1, "node": NODE, "key": NODE}
EXTERNAL: Final = {"framework": "MCP", "nodes": [NODE], "can": []}
# Channels of the thread's state: what was requested, and the outcome.
REQUEST: Final = "request"
OUTCOME: Final = "outcome"
# Of the lease while a tool works; a call that is let through has the time that it asked for.
SECONDS: Final = 30


class Outcome(BaseModel):
    """Outcome of a request to people.

    `wait`: they are asked; wait for the thread to change, then send the request again. `call`: call
    the tool with exactly `args`, then report the outcome under `lease`. `answer`: `result` is
    theirs, or what the call came to. `refused`: they said no, or nothing in time. `failed`: the
    call did not happen; send the request again to try again. `stop`: the thread was taken from you.
    """

    do: Literal["wait", "call", "answer", "refused", "failed", "stop"]
    args: Any = None
    idempotency_key: str = ""
    result: Any = None
    reason: str = ""
    what_next: str = ""
    comment: str = ""
    by: str = ""
    lease: UUID | None = None
    approvals: list[RequestNow] = Field(default_factory=list)
    thread: ThreadNow


class Refused(Exception):
    """A call of the API was refused: its answer is the tool's."""

    def __init__(self, answer: ApiAnswer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class _Request:
    """The thread of one request, and the calls that it needs."""

    def __init__(self, api: Api, thread: str) -> None:
        self._api = api
        self.thread = thread
        self.lease = ""

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """The answer of a call about the thread; raises Refused."""
        headers = {"Gatepost-Lease": self.lease} if self.lease else {}
        path = f"threads/{self.thread}/{path}"
        answer = await self._api(ApiCall(method, path, body=body, headers=headers))
        if not answer.is_done:
            raise Refused(answer)
        return answer.data

    async def outcome(self, do: str, **more: Any) -> ApiAnswer:
        """The answer of the tool, with the thread as it stands."""
        after = await self.call("GET", "next/")
        more = {"approvals": after["approvals"], "reason": after["reason"], **more}
        result = Outcome.model_validate({"do": do, **more, "thread": after["thread"]})
        return ApiAnswer(200, result.model_dump(mode="json"))

    async def end(self, outcome: dict[str, Any], *, reason: str = "") -> None:
        """Commit what the request came to and end its thread."""
        delta = {"set": {OUTCOME: outcome}}
        await self.call("POST", "checkpoints/", {"step": 1, "nodes": [NODE], "delta": delta})
        await self.release("succeeded", reason)

    async def release(self, status: str, reason: str = "") -> None:
        """Give the lease back."""
        await self.call("POST", "lease/release/", {"as": status, "reason": reason})
        self.lease = ""

    async def take(self) -> ApiAnswer | None:
        """Take the lease; the answer of the tool instead where there is nothing left to do."""
        now = await self.call("GET", "next/")
        status = now["thread"]["status"]
        if status in FINISHED:
            state = (await self.call("GET", "state/"))["state"]
            return await self.outcome(**state.get(OUTCOME, {"do": "stop"}))
        if status == Status.WAITING:
            return await self.outcome("wait")
        if now["do"] in ("stop", "undo"):
            return await self.outcome("stop")
        taken = await self.call("POST", "lease/", {"name": "mcp", "seconds": SECONDS})
        self.lease = taken["token"]
        if OUTCOME in taken["state"]:  # an earlier call was lost between its last two steps
            await self.release("succeeded")
            return await self.outcome(**taken["state"][OUTCOME])
        return None


async def _open(args: arguments.OfPeople, title: str, api: Api, tool: str = "") -> _Request:
    """The request's thread, started where there is none of its name.

    Its input is the request: another one under the same name is refused.
    """
    body = {
        "agent": args.agent,
        "name": args.name,
        "title": title[:TITLE_MAX],
        "input": {REQUEST: args.body()},
        "external": EXTERNAL | ({"tools": {tool: {}}} if tool else {}),
    }
    answer = await api(ApiCall("POST", "threads/", body=body))
    if not answer.is_done:
        raise Refused(answer)
    return _Request(api, answer.data["id"])


async def _request_approval(args: arguments.RequestApproval, api: Api) -> ApiAnswer:
    """Begin the effect, as an agent under a lease would; its end is another tool's."""
    try:
        request = await _open(args, args.title, api, args.tool)
        if (answer := await request.take()) is not None:
            return answer
        gate = {name: getattr(args, name) for name in ("title", "description", "risk")}
        effect = {"kind": "effect", "tool": args.tool, "args": args.args}
        body = {**POSITION, **effect, "gate": gate | {"expires_in": args.expires_in}}
        begun = await _under_lease(request, "activities/begin/", body)
        shown = {name: begun[name] for name in _SHOWN}
        if begun["do"] == "call":
            await request.call("POST", "lease/renew/", {"seconds": args.seconds})
            return await request.outcome("call", lease=request.lease, **shown)
        if begun["do"] in ("answer", "refused"):
            await request.end({"do": begun["do"], **shown}, reason=begun["reason"])
        return await request.outcome(begun["do"], **{k: v for k, v in shown.items() if v})
    except Refused as error:
        return error.answer


_SHOWN: Final = ("args", "idempotency_key", "result", "reason", "what_next", "comment", "by")


async def _ask(args: arguments.Ask, api: Api) -> ApiAnswer:
    """Ask as an agent under a lease would, and end the thread with the answer."""
    try:
        request = await _open(args, args.question, api)
        if (answer := await request.take()) is not None:
            return answer
        question = {name: getattr(args, name) for name in ("question", "description", "risk")}
        question |= {"schema": args.schema_, "expires_in": args.expires_in}
        ask = [{"node": NODE, "key": NODE, "question": question}]
        result = await _under_lease(request, "approvals/", {"step": 1, "ask": ask})
        if result["do"] != "answer":
            return await request.outcome(result["do"])
        (one,) = result["answers"]
        shown = {"comment": one["comment"], "by": one["by"], "result": one["answer"]}
        if one["state"] != "answered":
            shown |= {"reason": one["comment"] or f"The question was {one['state']}."}
        do = "answer" if one["state"] == "answered" else "refused"
        await request.end({"do": do, **shown})
        return await request.outcome(do, **shown)
    except Refused as error:
        return error.answer


async def _under_lease(request: _Request, path: str, body: dict[str, Any]) -> Any:
    """The answer of a call under the lease, which is given back where the call is refused."""
    try:
        return await request.call("POST", path, body)
    except Refused as error:
        if error.answer.code != "lease-lost":
            await request.release("queued", "The request was refused.")
        raise


async def _report_outcome(args: arguments.ReportOutcome, api: Api) -> ApiAnswer:
    """Settle the effect; where it is done the thread ends with its result."""
    request = _Request(api, str(args.thread))
    request.lease = str(args.lease)
    try:
        body = {**POSITION, "kind": "effect", "tool": args.tool, "state": args.state}
        settled = await request.call(
            "POST", "activities/settle/", {**body, "result": args.result, "error": args.error}
        )
        shown = {"args": settled["activity"]["args"], "result": settled["activity"]["result"]}
        if args.state == "done":
            await request.end({"do": "answer", **shown})
            return await request.outcome("answer", **shown)
        if args.state == "failed":
            await request.release("queued", args.error)
            return await request.outcome("failed", reason=args.error)
        request.lease = ""  # it went with the outcome that nobody knows
        return await request.outcome("stop")
    except Refused as error:
        return error.answer


TOOLS: Final = (
    Tool(
        "request_approval",
        "Ask people to approve a call",
        "Ask people whether you may call a tool of yours with exactly these arguments. Answers "
        "`wait` while they are asked: use `wait`, then send the same request again. `call` means "
        "that you may: call it once with the `args` of the answer, which a reviewer may have "
        "edited, then use `report_outcome`.",
        arguments.RequestApproval,
        (Outcome,),
        ("start", "work"),
        _request_approval,
        effect="adds",
        is_idempotent=True,
    ),
    Tool(
        "report_outcome",
        "Report what a call came to",
        "Report the outcome of the call that `request_approval` let you make. `unknown` if you "
        "cannot "
        "tell: a person then looks into it.",
        arguments.ReportOutcome,
        (Outcome,),
        ("work",),
        _report_outcome,
        effect="adds",
        is_idempotent=True,
    ),
    Tool(
        "ask",
        "Ask people a question",
        "Ask people a question, with a JSON Schema of the answer if you need a certain form. "
        "Answers `wait` while they are asked: use `wait`, then send the same question again.",
        arguments.Ask,
        (Outcome,),
        ("start", "work"),
        _ask,
        effect="adds",
        is_idempotent=True,
    ),
    declared(
        DECIDE,
        "Decide a request",
        "Approve, edit, answer or reject a request for approval. `proposal_hash` is the "
        "`standing_hash` of what you have seen (resource gatepost://approvals/{id}): a verdict "
        "counts for nothing else.",
    ),
)
