"""All that an author of agents imports: graph, state, context, gates, errors, test bench.

What works on a thread (the context, conversations, the test bench) is imported with its first name
that is asked for: a script or a module that only declares a graph needs a third of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from workers.authoring.children import Child, ChildrenFailed, Failure, Joined
from workers.authoring.errors import (
    ConversationGone,
    Expired,
    GraphError,
    OutsideActivity,
    Refused,
    Rejected,
    StepFailed,
)
from workers.authoring.graph import (
    END,
    Append,
    Custom,
    Decimal,
    Durable,
    Encrypted,
    Gate,
    Graph,
    LastValue,
    Merge,
    Node,
    Retry,
    RetryLater,
    Searchable,
    State,
    Sum,
    Tool,
    Upgrades,
    Way,
    plain,
    tool,
)
from workers.authoring.installation import setting
from workers.authoring.language_models import ConversationId, Model, Reply, Request
from workers.authoring.memories import Memory, MemoryRef
from workers.authoring.messages import ModelAnswer, ToolCall
from workers.authoring.signals import Signal
from workers.authoring.web_pages import WebPage, WebRefused

if TYPE_CHECKING:
    from workers.node.context import Context, current, cursor, progress
    from workers.react.conversation import Conversation
    from workers.react.loop import react
    from workers.testing.harness import (
        Approve,
        AskBack,
        Edit,
        Harness,
        NotOnTape,
        Played,
        Reject,
        Respond,
        Rule,
        Scripted,
        Terms,
        Verdict,
    )

__all__ = [
    "END",
    "Append",
    "Approve",
    "AskBack",
    "Child",
    "ChildrenFailed",
    "Context",
    "Conversation",
    "ConversationGone",
    "ConversationId",
    "Custom",
    "Decimal",
    "Durable",
    "Edit",
    "Encrypted",
    "Expired",
    "Failure",
    "Gate",
    "Graph",
    "GraphError",
    "Harness",
    "Joined",
    "LastValue",
    "Memory",
    "MemoryRef",
    "Merge",
    "Model",
    "ModelAnswer",
    "Node",
    "NotOnTape",
    "OutsideActivity",
    "Played",
    "Refused",
    "Reject",
    "Rejected",
    "Reply",
    "Request",
    "Respond",
    "Retry",
    "RetryLater",
    "Rule",
    "Scripted",
    "Searchable",
    "Signal",
    "State",
    "StepFailed",
    "Sum",
    "Terms",
    "Tool",
    "ToolCall",
    "Upgrades",
    "Verdict",
    "Way",
    "WebPage",
    "WebRefused",
    "current",
    "cursor",
    "plain",
    "progress",
    "react",
    "setting",
    "tool",
]

# {module: its names} that are imported when they are asked for.
_LATER = {
    "workers.node.context": ("Context", "current", "cursor", "progress"),
    "workers.react.conversation": ("Conversation",),
    "workers.react.loop": ("react",),
    "workers.testing.harness": (
        *("Approve", "AskBack", "Edit", "Harness", "NotOnTape", "Played", "Reject", "Respond"),
        *("Rule", "Scripted", "Terms", "Verdict"),
    ),
}
_HOMES = {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
