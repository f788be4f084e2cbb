"""Tools of declared actions on a thread or a request, whose arguments and rights they have."""

from __future__ import annotations

from typing import Any, Final

from pydantic import create_model

from dashboard.kit.action import Action
from dashboard.kit.shapes.previews import SecondPersonAsked

from .arguments import Arguments, Key, OneApproval, OneThread, Version
from .tool import Effect, Tool, changing

# What a tool names the target of an action by.
TARGETS: Final[dict[str, type[Arguments]]] = {"thread": OneThread, "approval": OneApproval}


def declared(
    action: Action[Any, Any],
    title: str,
    description: str,
    *,
    effect: Effect = "changes",
    address: str = "",
) -> Tool:
    """The tool that makes the call of an action; an agent reads `title` and `description`.

    `address` ends that of the call where it is not the action's verb.
    """
    target = action.target.name if action.target else ""
    more: dict[str, Any] = {"expected_version": (Version, None)} if action.versioned else {}
    more["idempotency_key"] = (Key, None)
    takes: type[Arguments] = create_model(
        action.verb.capitalize(),
        __base__=(TARGETS[target], action.takes),
        __doc__=action.takes.__doc__,
        **more,
    )
    answers = (action.answers, SecondPersonAsked) if action.operation else (action.answers,)
    call = changing(f"{target}s/{{{target}}}/{address or action.verb}/")
    return Tool(action.verb, title, description, takes, answers, (action.right,), call, effect)
