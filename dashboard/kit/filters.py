"""Filters as parameters of a call, options of a command, fields of JSON."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter
from pydantic import Field, create_model

from dashboard.errors import Invalid
from dashboard.fields.filters import CALL, COMMAND, PAIR, Filter, Kind, given_at, read
from dashboard.kit.api import parameters
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import Id
from dashboard.kit.terminal.arguments import number_from, pair
from dashboard.kit.terminal.console import Usage


def call_parameters(filters: Iterable[Filter]) -> list[OpenApiParameter]:
    """Describe the parameters of a call."""
    return [_parameter(one) for one in given_at(filters, CALL)]


def _parameter(one: Filter) -> OpenApiParameter:
    kind, words = one.kind, _description(one)
    if kind.choices:
        return parameters.choice(one.name, tuple(kind.choices), words)
    if kind.type is bool:
        return parameters.flag(one.name, words)
    if kind.type is UUID:
        return parameters.ident(one.name, words)
    if kind.type is int:
        return parameters.whole(one.name, words, low=kind.low, high=kind.high)
    return parameters.words(one.name, words, pattern=kind.pattern, longest=kind.in_address)


def taking[Input: RequestShape](
    filters: Iterable[Filter],
) -> Callable[[type[Input]], type[Input]]:
    """Add a field for each filter to a shape of JSON."""
    fields: dict[str, Any] = {one.name: _field(one.kind, _description(one)) for one in filters}

    def add(shape: type[Input]) -> type[Input]:
        return create_model(shape.__name__, __base__=shape, __doc__=shape.__doc__, **fields)

    return add


def _field(kind: Kind, words: str) -> tuple[Any, Any]:
    if kind.type is bool:
        return bool, Field(False, description=words)
    if kind.type is UUID:
        return Id | None, Field(None, description=words)
    if kind.type is int:
        return int | None, Field(None, ge=kind.low, le=kind.high, description=words)
    return Annotated[str, Field(max_length=kind.longest)], Field("", description=words)


def _description(one: Filter) -> str:
    return f"{one.help} Write key:value." if one.kind is PAIR else one.help


def add_options(parser: argparse.ArgumentParser, filters: Iterable[Filter], **usual: str) -> None:
    """Declare the options of a command, some with a `usual` value.

    A name of one letter has one hyphen, or two.
    """
    for one in given_at(filters, COMMAND):
        words = one.help.removesuffix(".").replace("%", "%%")
        value = usual.get(one.name)
        name = one.name.replace("_", "-")
        parser.add_argument(
            *([f"-{name}"] if len(name) == 1 else []),
            f"--{name}",
            help=words[:1].lower() + words[1:] + (f"; {value} unless given" if value else ""),
            default=value,
            **_option(one.kind),
        )


def _option(kind: Kind) -> dict[str, Any]:
    if kind.choices:
        return {"choices": tuple(kind.choices)}
    if kind.type is bool:
        return {"action": "store_const", "const": "1"}
    if kind.type is UUID:
        return {"type": UUID, "metavar": "ID"}
    if kind.type is int:
        return {"type": number_from(kind.low, kind.high), "metavar": "NUMBER"}
    return {"metavar": "KEY=VALUE"} if kind is PAIR else {}


def option_texts(filters: Iterable[Filter], options: Mapping[str, Any]) -> dict[str, str]:
    """{name: text} of the options of a command that are given."""
    return {
        one.name: str(options[one.name])
        for one in given_at(filters, COMMAND)
        if options[one.name] not in (None, "")
    }


def read_options(filters: Iterable[Filter], options: Mapping[str, Any]) -> dict[str, Any]:
    """{name: value} of the options of a command, which writes pairs key=value; raises Usage."""
    chosen = option_texts(filters, options)
    pairs = {
        one.name: pair(f"--{one.name}", chosen.pop(one.name), "key=value")
        for one in filters
        if one.kind is PAIR and one.name in chosen
    }
    try:
        return read(filters, chosen) | pairs
    except Invalid as error:
        fault = error.faults[0]
        raise Usage(f"--{fault.path.replace('_', '-')}", fault.message) from error
