"""A model that follows a script and counts how often it is asked."""

from __future__ import annotations

import json
from typing import Any

from agents.testing import ScriptedModel, assistant_message, function_call
from bank import note, stay


class Model(ScriptedModel):
    """Looks up, refunds, says what came of it; the step depends on the conversation alone."""

    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **more: Any
    ) -> Any:
        """The next step of the conversation."""
        items = input if isinstance(input, list) else []
        note("model", str(len(items)))
        outputs = [one["output"] for one in items if one.get("type") == "function_call_output"]
        self.enqueue([self.step(outputs)])
        return await super().get_response(system_instructions, input, *args, **more)

    def step(self, outputs: list[str]) -> Any:
        """Choose the output that follows these results of tools."""
        if not outputs:
            return function_call("look_up", {"order": "A1"}, call_id="one")
        if len(outputs) == 1:
            args = {"order": "A1", "cents": int(outputs[0])}
            return function_call("refund", args, call_id="two")
        if "changed the arguments" in outputs[-1]:
            args = json.loads(outputs[-1].partition(" with ")[2])
            return function_call("refund", args, call_id=f"call-{len(outputs)}")
        stay("last model call")
        return assistant_message(f"Done: {outputs[-1]}")


model = Model()
