"""A model that answers with the number of items that it is asked with."""

from __future__ import annotations

from typing import Any

from agents.testing import ScriptedModel, assistant_message


class Counting(ScriptedModel):
    """Counts what it is sent."""

    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **more: Any
    ) -> Any:
        """The number of items of the conversation."""
        items = input if isinstance(input, list) else [input]
        self.enqueue([assistant_message(str(len(items)))])
        return await super().get_response(system_instructions, input, *args, **more)
