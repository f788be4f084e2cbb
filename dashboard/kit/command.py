"""The verb of an action in a command: its options, its question, its answer."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any
from uuid import UUID

from dashboard.commands.terminal.arguments import pair
from dashboard.commands.terminal.console import PersonalCommand, Verb, add_yes_argument
from dashboard.commands.terminal.tables import Table
from dashboard.errors import Missing

from .action import Action, read
from .inputs import kind_of, option_of


def verb(
    action: Action[Any, Any],
    table: Callable[[Any], Table],
    *,
    plan_table: Callable[[Any], Table] | None = None,
    question: Callable[[Any, Any], str] | None = None,
    note: Callable[[Any], str] | None = None,
) -> Verb:
    """The verb of an action, `release` of `breaker.release`.

    `table` and `plan_table` show the answer and the plan, `note` follows the sentence of what was
    done. `question` is asked of (input, plan) before anything is done.
    """
    if (action.preview is None) is not (plan_table is None):
        raise TypeError(f"{action.name} needs a table of its plan, or shows one without a plan")
    kind, _, name = action.name.partition(".")

    def act(command: PersonalCommand) -> None:
        options, actor = command.options, command.actor(action.right)
        target = [_id(kind, options[action.target])] if action.target else []
        wanted = read(action.takes, _values(action, options))
        if plan_table:
            plan = action.plan(actor, wanted, *target)
            if options["preview"]:
                command.tell(plan, plan_table(plan))
                return
            if question and not command.confirmed(question(wanted, plan)):
                return
        result = action.run(actor, wanted, *target)
        command.tell(result, table(result))
        command.say(action.done(result))
        if note:
            command.say(note(result))

    def arguments(parser: argparse.ArgumentParser) -> None:
        if action.target:
            parser.add_argument(action.target, metavar="ID")
        _add_options(parser, action)
        if plan_table:
            parser.add_argument("--preview", action="store_true", help="only show what it would do")
        if question:
            add_yes_argument(parser)

    return Verb(name, action.help, act, arguments, action.examples)


def _add_options(parser: argparse.ArgumentParser, action: Action[Any, Any]) -> None:
    group: Any = None
    for name, field in action.takes.model_fields.items():
        adds: Any = parser
        if name in action.alternatives:
            adds = group = group or parser.add_mutually_exclusive_group()
        text = (field.description or "").removesuffix(".").replace("%", "%%")
        more: dict[str, Any] = {"help": text[:1].lower() + text[1:], "dest": name}
        match kind_of(field):
            case kind if kind is bool:
                more["action"] = "store_true"
            case kind if kind is dict:
                more |= {"action": "append", "metavar": "KEY=VALUE"}
            case kind if kind in (int, UUID):
                more["type"] = kind
        option = option_of(name, field).replace("_", "-")
        required = {"required": True} if field.is_required() else {"default": None}
        adds.add_argument(f"--{option}", **more, **required)


def _values(action: Action[Any, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The input that the options give; what is not given is left out."""
    values = {name: options[name] for name in action.takes.model_fields}
    values = {name: value for name, value in values.items() if value is not None}
    for name, value in values.items():
        if isinstance(value, list):
            option = option_of(name, action.takes.model_fields[name])
            values[name] = dict(pair(f"--{option}", word, "key=value") for word in value)
    return values


def _id(kind: str, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Missing(f"There is no such {kind}; `{kind} list` shows them.") from None
