"""The fixed list of types beyond JSON that a value of LangGraph may hold."""

from __future__ import annotations

import base64
import dataclasses
import json
import pathlib
import re
from collections import deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from ..wire.errors import InvalidValue

TAG, VALUE = "$type", "value"
Json = dict[str, Any]
Revive = Callable[[Any], Any]


def _sorted(items: Any) -> list[Any]:
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=repr)


def _named_text(value: Any) -> list[str]:
    return [type(value).__name__, str(value)]


_PATHS = {
    kind.__name__: kind
    for kind in (
        *(pathlib.PurePosixPath, pathlib.PureWindowsPath),
        *(pathlib.PosixPath, pathlib.WindowsPath),
    )
}
_ADDRESSES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(IPv4Address, IPv4Interface, IPv4Network),
        *(IPv6Address, IPv6Interface, IPv6Network),
    )
}

# Exact types: name, how it is written as JSON.
_PLAIN: dict[type, tuple[str, Callable[[Any], Any]]] = {
    bytes: ("bytes", lambda value: base64.b64encode(value).decode()),
    bytearray: ("bytearray", lambda value: base64.b64encode(value).decode()),
    deque: ("deque", list),
    set: ("set", _sorted),
    frozenset: ("frozenset", _sorted),
    datetime: ("datetime", lambda value: value.isoformat()),
    date: ("date", lambda value: value.isoformat()),
    time: ("time", lambda value: value.isoformat()),
    timedelta: ("timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    UUID: ("uuid", str),
    Decimal: ("decimal", str),
    Fraction: ("fraction", str),
    complex: ("complex", lambda value: [value.real, value.imag]),
    range: ("range", lambda value: [value.start, value.stop, value.step]),
    timezone: ("timezone", lambda value: [value.utcoffset(None), value.tzname(None)]),
    ZoneInfo: ("zone", lambda value: value.key),
    re.Pattern: ("pattern", lambda value: [value.pattern, int(value.flags)]),
    **dict.fromkeys(_PATHS.values(), ("path", _named_text)),
    **dict.fromkeys(_ADDRESSES.values(), ("address", _named_text)),
}


def _revive_path(value: Any) -> pathlib.PurePath:
    """A path of the record; one of another kind of system as that system's pure path."""
    name, text = value
    if name in ("PosixPath", "WindowsPath") and name != type(pathlib.Path()).__name__:
        name = f"Pure{name}"
    return _PATHS[name](text)


def _revive_zone(value: Any) -> timezone:
    offset, name = value
    plain = timezone(offset)
    return plain if plain.tzname(None) == name else timezone(offset, name)


_REVIVE: dict[str, Revive] = {
    "bytes": base64.b64decode,
    "bytearray": lambda value: bytearray(base64.b64decode(value)),
    "deque": deque,
    "set": set,
    "frozenset": frozenset,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda value: timedelta(*value),
    "uuid": UUID,
    "decimal": Decimal,
    "int": int,
    "float": float,
    "fraction": Fraction,
    "complex": lambda value: complex(*value),
    "range": lambda value: range(*value),
    "timezone": _revive_zone,
    "zone": ZoneInfo,
    "pattern": lambda value: re.compile(*value),
    "path": _revive_path,
    "address": lambda value: _ADDRESSES[value[0]](value[1]),
    "tuple": tuple,
    "map": dict,
    "text": lambda value: value.encode("ascii").decode("unicode_escape"),
}

# The messages that `messages_from_dict` of LangChain makes.
_MESSAGES = frozenset(
    {"human", "ai", "system", "chat", "function", "tool", "remove"}
    | {f"{kind}MessageChunk" for kind in ("AI", "Human", "Function", "Tool", "System", "Chat")}
)


class Forms:
    """The forms of LangGraph and LangChain; imported when such a value is met."""

    @cached_property
    def _langgraph(self) -> dict[type, tuple[str, Callable[[Any], Any]]]:
        from langgraph.checkpoint.serde.types import _DeltaSnapshot
        from langgraph.types import Command, Interrupt, Overwrite, Send

        return {
            Send: ("send", _send),
            Command: ("command", _members),
            Interrupt: ("interrupt", _interrupt),
            Overwrite: ("overwrite", lambda value: value.value),
            _DeltaSnapshot: ("snapshot", lambda value: value.value),
        }

    @cached_property
    def _message(self) -> Any:
        from langchain_core.messages import BaseMessage

        return BaseMessage

    @cached_property
    def _document(self) -> Any:
        from langchain_core.documents import Document

        return Document

    @cached_property
    def _revive_langgraph(self) -> dict[str, Revive]:
        from langchain_core.messages import messages_from_dict
        from langgraph.checkpoint.serde.types import _DeltaSnapshot
        from langgraph.types import Command, Interrupt, Overwrite, Send, TimeoutPolicy

        def send(value: Json) -> Any:
            timeout = value.get("timeout")
            policy = None if timeout is None else TimeoutPolicy(**timeout)
            return Send(value["node"], value["arg"], timeout=policy)

        def interrupt(value: Json) -> Any:
            schema = value.get("response_schema")
            return Interrupt(value["value"], id=value["id"], response_schema=schema)

        return {
            "send": send,
            "command": lambda value: Command(**value),
            "interrupt": interrupt,
            "overwrite": Overwrite,
            "snapshot": _DeltaSnapshot,
            "message": lambda value: messages_from_dict([value])[0],
            "document": lambda value: self._document(**value),
        }

    def of(self, value: Any) -> tuple[str, Any] | None:
        """The name of a value's form and its content; no name where it becomes a text."""
        kind = type(value)
        if known := _PLAIN.get(kind) or self._langgraph.get(kind):
            name, written = known
            return name, written(value)
        if isinstance(value, self._message) and value.type in _MESSAGES:
            return "message", {"type": value.type, "data": _fields(value)}
        if kind is self._document:
            return "document", _fields(value)
        if isinstance(value, BaseException):
            return "", repr(value)  # as LangGraph's own serializer keeps it
        return None

    def revive(self, name: str, content: Any) -> Any:
        """The value of a form; raises InvalidValue for one that is not listed."""
        revive = _REVIVE.get(name) or self._revive_langgraph.get(name)
        if revive is None:
            raise InvalidValue(
                f"The record holds a value of type {json.dumps(name)}, which is not in the list. "
                "If it is a class of yours, name it: types=[...]"
            )
        try:
            return revive(content)
        except (TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise InvalidValue(f"The record holds no valid {name}: {error}") from error


def _fields(value: Any) -> Json:
    """The fields of a message or document, with what else it was made with."""
    return {name: getattr(value, name) for name in type(value).model_fields} | dict(
        value.model_extra or {}
    )


def _members(value: Any) -> Json:
    fields = dataclasses.fields(value)
    return {f.name: item for f in fields if (item := getattr(value, f.name)) != f.default}


def _send(value: Any) -> Json:
    timeout = None if value.timeout is None else dataclasses.asdict(value.timeout)
    return {"node": value.node, "arg": value.arg, "timeout": timeout}


def _interrupt(value: Any) -> Json:
    schema = value.response_schema
    return {
        "value": value.value,
        "id": value.id,
        "response_schema": schema if isinstance(schema, dict) else None,
    }
