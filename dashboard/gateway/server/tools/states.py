"""Tools that keep an agent's state by name."""

from __future__ import annotations

from typing import Final

from dashboard.documents.state_shape import State
from dashboard.external.answers import CheckpointKept

from . import arguments
from .tool import Tool, changing, reading

TOOLS: Final = (
    Tool(
        "save_state",
        "Save a state",
        "Save your whole state under a name. Each save is a checkpoint that stays; "
        "`checkpoint.number` of the answer is its version. With `after` it is refused where "
        "somebody else has saved since.",
        arguments.SaveState,
        (CheckpointKept,),
        ("start", "work"),
        changing("states/"),
        effect="adds",
    ),
    Tool(
        "load_state",
        "Load a state",
        "Load the state that was saved under a name: the newest, or that of an earlier `number`. "
        "`context.number` is its version.",
        arguments.LoadState,
        (State,),
        ("read",),
        reading("states/", "name", "bucket", "number"),
        effect="reads",
    ),
)
