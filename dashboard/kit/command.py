"""The verb of an action in a command: its options, its question, its answer."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from dashboard.identity.permissions import Actor
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.terminal.arguments import add_version_argument, pair
from dashboard.kit.terminal.console import PersonalCommand, Verb, add_yes_argument
from dashboard.kit.terminal.tables import Table

from .action import Action, read
from .inputs import inputs_of
from .whole_settings import switch_off

type _Declare = Callable[[argparse.ArgumentParser], None]


def verb(
    action: Action[Any, Any],
    show: Callable[..., None],
    *,
    called: str = "",
    does: str = "",
    fixed: Mapping[str, Any] | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
    without: Collection[str] = (),
    finds: Mapping[str, Callable[[Actor, str], Any]] | None = None,
    beside: tuple[_Declare, Callable[[dict[str, Any]], dict[str, Any]]] | None = None,
    plan_table: Callable[[Any], Table] | None = None,
    question: Callable[[Any, Any], str] | None = None,
    note: Callable[[Any], str] | None = None,
) -> Verb:
    """The verb of an action, `release` of `breaker.release`.

    `show` shows what was done: of (command, person, result, id). `plan_table` shows the plan for
    `--preview`, `question` is asked of (input, plan) before anything is done, `note` follows the
    sentence of what was done. `called` is the verb's own word where it has one, `does` its own
    help; `fixed` are the values that it stands for. `names` are arguments that are not called like
    their field, `without` the fields that have none, `finds` how a person's word for a value is
    read; `beside` declares others and reads values of the input from them.
    """
    if (action.preview is None) is not (plan_table is None and question is None):
        raise TypeError(f"{action.name} shows its plan nowhere, or one that it does not have")
    values_of_verb, by_word = dict(fixed or {}), dict(finds or {})
    words = _argument_words(action, names or {}, {*without, *values_of_verb})

    def act(command: PersonalCommand) -> None:
        options, actor = command.options, command.actor(action.right)
        kind = action.target
        target = [kind.find(actor, options[kind.name])] if kind else []
        values = values_of_verb | _values(action, words, options)
        values |= {n: find(actor, values[n]) for n, find in by_word.items() if n in values}
        if beside:
            values |= beside[1](options)
        wanted = read(action.takes, values)
        if action.preview:
            plan = action.plan(actor, wanted, *target)
            if plan_table and options["preview"]:
                command.show(plan, plan_table(plan))
                return
            if question and not command.confirmed(question(wanted, plan)):
                return
        version = options["version"] if action.versioned else None
        result = action.run(actor, wanted, *target, expected_version=version)
        show(command, actor, result, *target)
        command.say(action.done(wanted, result))
        if note:
            command.say(note(result))

    def arguments(parser: argparse.ArgumentParser) -> None:
        _add_arguments(parser, action, words, by_word)
        if beside:
            beside[0](parser)
        if action.versioned:
            add_version_argument(parser)
        if plan_table:
            parser.add_argument("--preview", action="store_true", help="only show what it would do")
        if question:
            add_yes_argument(parser)

    name = called or action.verb.replace("_", "-")
    return Verb(name, does or action.help, act, arguments, action.examples, action.name)


def listing(
    does: str,
    right: str,
    read_all: Callable[..., Any],
    table_of: Callable[[Any], Table],
    *,
    empty: str = "",
    flags: Mapping[str, str] | None = None,
) -> Verb:
    """The verb `list`: `read_all(person).results` in a table, the sentence `empty` without any.

    `flags` are options that `read_all` takes, with their help.
    """
    texts = flags or {}

    def act(command: PersonalCommand) -> None:
        chosen = {name: command.options[name] for name in texts}
        shown = read_all(command.actor(right), **chosen)
        command.show(shown, table_of(shown.results))
        if empty and not shown.results:
            command.say(empty)

    def arguments(parser: argparse.ArgumentParser) -> None:
        for name, text in texts.items():
            parser.add_argument(f"--{name}", action="store_true", help=text)

    return Verb("list", does, act, arguments)


def off_verb(
    action: Action[Any, Any],
    read_all: Callable[[Actor], Any],
    show: Callable[..., None],
    arguments: _Declare,
    *,
    key: Sequence[str],
    does: str,
    missing: str,
    example: str,
) -> Verb:
    """The verb `off` of a setting that is set as a whole; see `switch_off`."""

    def act(command: PersonalCommand) -> None:
        actor = command.actor(action.right)
        which = {name: command.options[name] for name in key}
        show(command, actor, switch_off(action, actor, read_all, missing=missing, **which))

    return Verb("off", does, act, arguments, example)


def show_row(table_of: Callable[[Any], Table]) -> Callable[..., None]:
    """Show the result of a verb as a row in the table of the list."""

    def show(command: PersonalCommand, _: Any, row: Any, *__: UUID) -> None:
        command.show(row, table_of([row]))

    return show


def _argument_words(
    action: Action[Any, Any], names: Mapping[str, Sequence[str]], without: Collection[str]
) -> dict[str, Sequence[str]]:
    """The words of the argument of each field that has one, empty for an option of its name."""
    named = {**action.arguments, **names}
    # Arguments without a dash stand in the order of `names`, which need not be that of the fields.
    places = [name for name, one in named.items() if one and not one[0].startswith("--")]
    fields = dict.fromkeys([*places, *action.takes.model_fields])
    skipped = {*without, *(name for name, argument in named.items() if not argument)}
    return {name: named.get(name, ()) for name in fields if name not in skipped}


def _add_arguments(
    parser: argparse.ArgumentParser,
    action: Action[Any, Any],
    words: Mapping[str, Sequence[str]],
    finds: Collection[str],
) -> None:
    """Declare the argument of the target, and of each field that has one."""
    if kind := action.target:
        parser.add_argument(kind.name, metavar=kind.metavar, help=kind.help)
    group: Any = None
    takes: type[RequestShape] = action.takes
    inputs = inputs_of(takes)
    members = {inputs.fields[one.name]: one for one in inputs.members}
    for name in words:
        one, field = members[name], takes.model_fields[name]
        adds: Any = parser
        if name in action.alternatives:
            adds = group = group or parser.add_mutually_exclusive_group()
        text = re.sub(r"(?<!\.)\.$", "", field.description or "").replace("%", "%%")
        more: dict[str, Any] = {"help": text[:1].lower() + text[1:]}
        match one.kind:
            case "bool" if field.default is None:  # three answers: yes, no, as it is
                more["action"] = argparse.BooleanOptionalAction
            case "bool":
                more["action"] = "store_true"
            case "pair":
                more |= {"action": "append", "metavar": "KEY=VALUE"}
            case "lines":
                more |= {"action": "append", "choices": one.part["items"].get("enum")}
                more["help"] = f"{more['help']}; once for each".removeprefix("; ")
            case "integer":
                more["type"] = int
            case "select":
                more["choices"] = one.options
            case _ if one.part.get("format") == "uuid" and name not in finds:
                more["type"] = UUID
        word, *shown = words[name] or ["--" + one.name.replace("_", "-")]
        if shown:
            [more["metavar"]] = shown
        if word.startswith("--"):
            more |= {"dest": name, "default": None, "required": field.is_required()}
        elif not field.is_required():
            more["nargs"] = "?"
        adds.add_argument(word, **more)


def _values(
    action: Action[Any, Any], words: Mapping[str, Sequence[str]], options: dict[str, Any]
) -> dict[str, Any]:
    """The input that the options give; what is not given is left out."""
    values = {name: options[name] for name in words}
    values = {name: value for name, value in values.items() if value is not None}
    takes: type[RequestShape] = action.takes
    inputs = inputs_of(takes)
    for one in inputs.members:
        if one.kind == "pair" and (name := inputs.fields[one.name]) in values:
            values[name] = dict(pair(f"--{one.name}", word, "key=value") for word in values[name])
    return values
