"""Activities that a policy asks about: carried out as effects, behind the same gate.

The author calls it an activity, and the policy has the last word: from the request
on it is an effect like any other, approved, edited or refused, with a key and one execution per
approval. It may be repeated after a crash, as an activity may.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..authoring.graph import Tool
from ..authoring.retry_policy import Retry

UNNAMED: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
)
KEY: Final = "key"  # the engine's own argument of a tool


def named_args(call: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The recorded arguments of an activity by name; None where the function does not name them."""
    try:
        signature = inspect.signature(call)
        bound = signature.bind(*values["args"], **values.get("kwargs", {}))
    except (TypeError, ValueError):  # a function of an extension module, or called wrongly
        return None
    parameters = signature.parameters
    if KEY in parameters or any(one.kind in UNNAMED for one in parameters.values()):
        return None
    return dict(bound.arguments)


def as_tool(name: str, call: Callable[..., Any], *, names: bool, retry: Retry | None) -> Tool:
    """The activity as a tool; it takes `args` and `kwargs` where its arguments have no names."""

    def by_name(*, key: str, **args: Any) -> Any:
        return call(**args)

    def by_place(*, key: str, args: Any, kwargs: Any = None) -> Any:
        return call(*args, **(kwargs or {}))

    tool = Tool(name, by_name if names else by_place, idempotent=True, retry=retry, elsewhere=True)
    # Read off the author's function, not off those above.
    vars(tool)["schema"] = _schema(name, call) if names else {"type": "object"}
    return tool


def _schema(name: str, call: Callable[..., Any]) -> dict[str, Any]:
    try:
        return Tool(name, call).schema
    except Exception:  # annotations that are no types of JSON, or that cannot be read here
        return {"type": "object"}
