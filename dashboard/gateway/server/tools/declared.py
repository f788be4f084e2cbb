"""Tools of declared actions on a thread: arguments, answers and rights are the action's."""

from __future__ import annotations

from typing import Any

from pydantic import create_model

from dashboard.api.shapes.previews import SecondPersonAsked
from dashboard.kit.action import Action

from .arguments import Key, OneThread, Version
from .tool import Effect, Tool, changing


def declared(
    action: Action[Any, Any], title: str, description: str, *, effect: Effect = "changes"
) -> Tool:
    """The tool that makes the call of an action; an agent reads `title` and `description`."""
    more: dict[str, Any] = {"expected_version": (Version, None)} if action.versioned else {}
    more["idempotency_key"] = (Key, None)
    takes: type[OneThread] = create_model(
        action.verb.capitalize(),
        __base__=(OneThread, action.takes),
        __doc__=action.takes.__doc__,
        **more,
    )
    answers = (action.answers, SecondPersonAsked) if action.operation else (action.answers,)
    call = changing(f"threads/{{thread}}/{action.verb}/")
    return Tool(action.verb, title, description, takes, answers, (action.right,), call, effect)
