"""Declared actions as entries: their pages and commands, and the example of the call used at both.

An action has one example, that of its call (`tests/contract/examples`). The line of its command and
the form of its page are made from it; what a page or command takes otherwise stands in the tables
of `test_pages_and_calls` and `commands`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from dashboard.kit.action import ACTIONS, Action
from dashboard.kit.inputs import inputs_of
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.terminal.console import Verb
from tests.contract.calls import EXAMPLES
from tests.contract.example_calls import Call
from tests.contract.world import World
from tests.unit.dashboard.command_list import COMMANDS, command_named


def named(patterns: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    """Every address of a page; the API, SCIM and the admin have addresses of their own."""
    for one in patterns:
        if isinstance(one, URLResolver):
            if str(one.pattern) not in ("api/", "admin/", "scim/v2/"):
                yield from named(one.url_patterns)
        else:
            yield one


@cache
def pages() -> dict[str, Action[Any, Any]]:
    """The pages that were made from actions: {name of its address: action}."""
    views = {str(one.name): one.callback for one in named(get_resolver().url_patterns)}
    return {name: view.action for name, view in views.items() if hasattr(view, "action")}


@cache
def verbs() -> dict[str, str]:
    """The commands that were made from actions: {action: "threads rename" or "approve"}."""
    words: dict[str, str] = {}
    for name in COMMANDS:
        words |= dict.fromkeys(getattr(command_named(name), "declared", ()), name)
        words |= {verb.declared: line for line, verb in _verbs(name).items() if verb.declared}
    return words


def _verbs(name: str) -> dict[str, Verb]:
    return {f"{name} {verb.name}": verb for verb in getattr(command_named(name), "verbs", ())}


def form(page: str, world: World) -> tuple[str, list[Any], dict[str, Any]]:
    """Who sends the form of a page, to which ids, and its fields: those of the call's example."""
    action = pages()[page]
    call = _example(action, world)
    texts: dict[str, Any] = {}
    left = dict(call.body)
    takes: type[RequestShape] = action.takes
    inputs = inputs_of(takes)
    for one in inputs.members:
        match left.pop(inputs.fields[one.name], None):
            case None | False:
                pass
            case True:
                texts[one.name] = "1"
            case str() | int() as value:
                texts[one.name] = str(value)
            case other:
                raise AssertionError(f"{page}: write {other!r} as a form in FORMS")
    assert not left, f"{page}: write a form in FORMS"
    return call.who[0], [*call.params.values()], texts


def command_lines() -> list[str]:
    """Each verb that was made from an action."""
    return [line for line in verbs().values() if " " in line]


def of_command(words: str) -> Action[Any, Any]:
    """The action that a verb was made from."""
    return ACTIONS[_verbs(words.split()[0])[words].declared]


def line(words: str, world: World) -> list[str]:
    """What is typed behind a verb: the target and the values of the call's example."""
    verb = _verbs(words.split()[0])[words]
    action = of_command(words)
    call = _example(action, world)
    values = dict(call.body)
    if action.target:
        [values[action.target.name]] = call.params.values()
    parser = argparse.ArgumentParser(add_help=False)
    verb.arguments(parser)
    places: list[str] = []
    options: list[str] = []
    for one in parser._actions:
        if one.dest == "yes":
            options.append("--yes")
        if (value := values.pop(one.dest, None)) is None:
            continue
        flag = one.option_strings[-1:]
        assert isinstance(value, str | int), f"{words}: write {value!r} as options in COMMANDS"
        if value is True and one.nargs == 0:
            options += flag
        else:
            (options if flag else places).extend([*flag, str(value)])
    assert not values, f"{words}: write its line in COMMANDS, {[*values]} are no options"
    return places + options


def _example(action: Action[Any, Any], world: World) -> Call:
    example: Mapping[str, Any] = EXAMPLES
    assert action.operation_id in example, f"no example of {action.operation_id}"
    made: Call = example[action.operation_id](world)
    return made
