"""python cases.py CASE: what a run of Pydantic AI can ask people for."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import date, timedelta
from typing import Any

from bank import note, refund
from pydantic_ai import Agent, CallDeferred, RunContext
from pydantic_ai.capabilities import RequestInput
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import DeferredToolRequests

from gatepost_client import Approve
from gatepost_client.pydantic_ai import Gatepost, controlled

CASE = sys.argv[1]


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Call all tools of the case at once, then say what came of them."""
    note("model", str(len(messages)))
    returned = {
        part.tool_call_id: part.content
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    if returned:
        return ModelResponse([TextPart(json.dumps(returned))])
    calls = [
        ToolCallPart("transfer", {"to": "ada", "cents": 100}, tool_call_id="a"),
        ToolCallPart("transfer", {"to": "bob", "cents": 200}, tool_call_id="b"),
        ToolCallPart("ask_user", {"question": "Which colour?"}, tool_call_id="c"),
    ]
    plan = [ToolCallPart("plan", {"what": "walk", "day": "2027-01-02"}, tool_call_id="d")]
    return ModelResponse({"two": calls, "in": calls[:1], "held": plan}[CASE.split("-")[0]])


def tell(ctx: RunContext[None], requests: DeferredToolRequests, token: str) -> None:
    """Hand the token to whoever will answer."""
    note("told", token)


request = RequestInput(tell, timeout=timedelta(days=1), name="transfers")
gates = {"transfer": Approve("Transfer {cents} to {to}?", risk="high")}


class Noting(Gatepost):
    """Notes who decided."""

    async def decide(self, *args: Any) -> Any:
        """Decide, and note who did."""
        results = await super().decide(*args)
        note("by", json.dumps(results.answered_by))
        return results


capabilities: list[Any] = [Noting(approve=gates)]
if CASE.startswith("in"):
    capabilities.append(request)
agent = Agent(FunctionModel(answer), name="cases", capabilities=capabilities)


@agent.tool_plain(requires_approval=True)
def transfer(to: str, cents: int) -> str:
    """Send money."""
    return refund(to, cents)


@agent.tool_plain
def ask_user(question: str) -> str:
    """Ask the user."""
    raise CallDeferred(kind="question")


def check(ctx: RunContext[None], what: str, day: date) -> None:
    """Note what was checked."""
    note("checked", f"{what} {day:%d.%m.%Y}")


@agent.tool_plain(args_validator=check)
def plan(what: str, day: date) -> str:
    """Plan something for a day."""
    note("planned", f"{what} {day:%d.%m.%Y}")
    return f"{what} is planned"


@controlled("pydantic-cases", thread="{case}")
async def main(case: str) -> Any:
    """One run."""
    result = await agent.run("Go")
    return json.loads(result.output)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(CASE))))
