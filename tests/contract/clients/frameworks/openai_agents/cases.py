"""python cases.py CASE: conversations over several runs, hand-offs, several interruptions."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from agents.testing import ScriptedModel, assistant_message, function_call
from bank import note, refund, stay

from agents import Agent, function_tool
from gatepost_client import Approve
from gatepost_client.aio import ask as wait_for
from gatepost_client.openai_agents import Runner, Session, controlled

CASE = sys.argv[1]


class Model(ScriptedModel):
    """Two transfers at once, then a text that says what it was told."""

    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **more: Any
    ) -> Any:
        """The next step of the conversation."""
        items = input if isinstance(input, list) else [{"role": "user", "content": input}]
        note("model", json.dumps(items))
        outputs = [one["output"] for one in items if one.get("type") == "function_call_output"]
        if CASE.startswith("two") and not outputs:
            step = [
                function_call("transfer", {"to": "ada", "cents": 100}, call_id="a"),
                function_call("transfer", {"to": "bob", "cents": 200}, call_id="b"),
            ]
        elif CASE.startswith("late") and not outputs:
            step = [function_call("hand_out", {"to": "ada", "cents": 5}, call_id="l")]
        elif CASE.startswith("hand") and system_instructions == "first":
            step = [function_call("transfer_to_second", {}, call_id="h")]
        else:
            stay(f"text {len(items)}")
            step = [assistant_message(json.dumps(outputs or len(items)))]
        self.enqueue(step)
        return await super().get_response(system_instructions, input, *args, **more)


@function_tool(needs_approval=True, failure_error_function=None)
def transfer(to: str, cents: int) -> str:
    """Send money."""
    return refund(to, cents)


model = Model()
second = Agent(name="second", instructions="second", model=model)
agent = Agent(name="first", instructions="first", model=model, tools=[transfer], handoffs=[second])
gates = {"transfer": Approve("Transfer {cents} to {to}?")}


def made_late() -> Any:
    """An agent and its tool, which no module names."""

    @function_tool(needs_approval=True, failure_error_function=None)
    def hand_out(to: str, cents: int) -> str:
        """Hand out money."""
        return refund(to, cents)

    return Agent(name="late", instructions="late", model=model, tools=[hand_out])


@controlled("openai-cases", thread="{case}", announce=["hand_out"])
async def main(case: str) -> Any:
    """One or two runs."""
    if case.startswith("late"):
        return json.loads((await Runner.run(made_late(), "Go", approve=gates)).final_output)
    if not case.startswith("talk"):
        return json.loads((await Runner.run(agent, "Go", approve=gates)).final_output)
    session = Session()
    first = await Runner.run(agent, "One", session=session)
    await wait_for("Go on?")
    last = await Runner.run(agent, "Two", session=session)
    return [json.loads(first.final_output), json.loads(last.final_output)]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(CASE))))
