"""Filters of memories: on the page of their list, in the call and the command."""

from __future__ import annotations

from typing import Final

from checkpoints.limits import AGENT_MAX
from checkpoints.memories import ITEM_BYTES, KINDS, OWNER_MAX, QUERY_MAX, SCOPES, SOURCES
from dashboard.fields import filters
from dashboard.fields.filters import CALL, COMMAND, PAGE, TOOL, Filter
from dashboard.wording.memories import KIND_WORDS, SCOPE_WORDS, SOURCE_WORDS, STATE_WORDS

SEARCH: Final = Filter(
    name="q",
    kind=filters.text(QUERY_MAX),
    help="Words: the best matches come first, at most 50. An entry has some of the words.",
)
# Its condition is the field of its name in `checkpoints.queries.MemorySelection`.
MEMORIES: Final = (
    Filter(
        name="scope",
        kind=filters.one({one: SCOPE_WORDS[one] for one in SCOPES}),
        help="Only what is read by: a thread, an agent, all that work for a person, the workspace.",
        label="Read by",
        unset="Anybody",
    ),
    Filter(
        name="kind",
        kind=filters.one({one: KIND_WORDS[one] for one in KINDS}),
        help="Only conversations, facts or documents.",
        label="Kind",
    ),
    Filter(
        name="source",
        kind=filters.one({one: SOURCE_WORDS[one] for one in SOURCES}),
        help="Only what an agent remembered, a person wrote, or was imported.",
        label="Source",
    ),
    Filter(
        name="agent",
        kind=filters.text(AGENT_MAX),
        help="Only what is this agent's, or came from its threads.",
        label="Agent",
        unset="All agents",
    ),
    Filter(
        name="thread",
        kind=filters.ID,
        help="Only what came from this thread, or is its own.",
    ),
    Filter(
        name="person",
        kind=filters.text(OWNER_MAX),
        help="Only what belongs to this person (`user:7`).",
        endpoints=(CALL, COMMAND, TOOL),
    ),
    Filter(
        name="namespace",
        kind=filters.text(ITEM_BYTES),
        help="Only items of a store at or below this namespace (`users.7`).",
        endpoints=(CALL, COMMAND, TOOL),
    ),
    Filter(
        name="item",
        kind=filters.text(ITEM_BYTES),
        help="Only items of a store with this key.",
        endpoints=(CALL, COMMAND, TOOL),
    ),
    Filter(
        name="outside",
        kind=filters.FLAG,
        help="Only what came from outside the workspace.",
    ),
    Filter(
        name="state",
        kind=filters.one(STATE_WORDS),
        help="`kept` is what agents can recall; `gone` was deleted or has expired.",
        label="State",
        unset="Kept and gone",
        endpoints=(PAGE, CALL, COMMAND, TOOL),
    ),
)
