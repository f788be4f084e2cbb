"""Values of LangGraph as JSON and back; each case asserts and the last line says how many."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections import deque, namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Interface, IPv6Network
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Command, Interrupt, Overwrite, Send
from pydantic import BaseModel

from gatepost_client import InvalidValue
from gatepost_client.langgraph import JsonSerializer


class Colour(Enum):
    """An enum of the user."""

    RED = "red"


class Model(BaseModel):
    """A pydantic model of the user."""

    when: date
    inner: list[Decimal] = []


@dataclasses.dataclass(frozen=True)
class Point:
    """A dataclass of the user."""

    x: int
    tags: frozenset[str] = frozenset()


Pair = namedtuple("Pair", "left right")
# A class of the fixed list may be named as well.
OWN = JsonSerializer([Colour, Model, Point, Pair, Send, Path, object])
PLAIN = JsonSerializer()
MESSAGES = [
    HumanMessage("hello", id="1", name="ada"),
    AIMessage(
        "",
        id="2",
        tool_calls=[{"name": "pay", "args": {"amount": 1.5}, "id": "c", "type": "tool_call"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model": "m"},
    ),
    ToolMessage("paid", tool_call_id="c", artifact={"raw": b"\x00\xff"}, status="error"),
    SystemMessage([{"type": "text", "text": "be kind"}]),
    RemoveMessage(id="1"),
    ChatMessage("x", role="critic"),
    AIMessageChunk("par"),
]
SAME: list[Any] = [
    *(None, True, 0, -1.5, 2.0, 1e300, 2**80, "", "ü\u2028", [], {}, [[{"a": [1]}]]),
    *({"$type": "int", "value": "1"}, {"$type": {"$type": 1}}, b"\x00", bytearray(b"x")),
    *({1, 2}, frozenset({"a"}), deque([1]), date(2026, 1, 2), time(3, 4), timedelta(1, 2, 3)),
    *(datetime(2026, 1, 2, tzinfo=UTC), UUID(int=7), Decimal("1.10")),
    *(Send("node", {"messages": MESSAGES[:2]}), Send("n", 1, timeout=2.5)),
    *(Interrupt({"q": 1}, id="i"), Interrupt("?", id="j", response_schema={"type": "string"})),
    *({1: "a"}, {(1, (2, "x")): [1]}, {None: {True: 1.5}, "a": 2}, {date(2026, 1, 2): {}}),
    *({frozenset({1}): 1, b"k": 2}, {"\0": 1}, {"\ud83d": "\udc00"}, {"$type": {2: 3}}),
    *("\0", "a\ud83d\\n\u2028ü", 2.0**70, -2.0, float("inf"), float("-inf"), complex(1, -2.5)),
    *(Fraction(1, 3), range(1, 9, 2), re.compile("a(b)?", re.I), re.compile(rb"\x00")),
    *(PurePosixPath("/a/b"), Path("c/ü"), PureWindowsPath("C:/d"), ZoneInfo("Europe/Berlin")),
    *(timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(0), "Z"), UTC),
    *(IPv4Address("10.0.0.1"), IPv6Network("fe80::/10"), IPv4Interface("10.0.0.1/8")),
    *(datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=-3))), {Decimal(1): {UUID(int=1): 2}}),
    *(Command(goto="a", update={"x": 1}), Send("n", Command(graph=Command.PARENT, resume=[1]))),
    *(Overwrite([1]), _DeltaSnapshot([MESSAGES[0]]), Document("text", metadata={"page": 2})),
    *MESSAGES,
]
for value in SAME:
    encoded = json.loads(json.dumps(PLAIN.encode(value), allow_nan=False))
    back = PLAIN.decode(encoded)
    assert back == value, (value, encoded, back)
    assert type(back) is type(value), (value, back)
    assert PLAIN.loads_typed(PLAIN.dumps_typed(value)) == value
    text = json.dumps(encoded, ensure_ascii=False)
    assert "\\u0000" not in text
    assert text.encode()  # no half of a surrogate pair
for value in (
    Colour.RED,
    Model(when=date(2026, 1, 2), inner=[Decimal("2.0")]),
    Point(1),
    Pair(1, 2),
):
    back = OWN.decode(OWN.encode({"a": [value]}))["a"][0]
    assert back == value, back
    assert type(back) is type(value), back

assert PLAIN.decode(PLAIN.encode((1, (2,)))) == [1, [2]]
assert PLAIN.encode(ValueError("no")) == "ValueError('no')"
message = PLAIN.encode(MESSAGES[0])
assert message["$type"] == "message", message
assert message["value"]["type"] == "human", message

assert math.isnan(PLAIN.decode(PLAIN.encode([{"when": float("nan")}]))[0]["when"])
assert PLAIN.encode({"f": "\0"}) == {"f": {"$type": "text", "value": "\\x00"}}
assert OWN.decode(OWN.encode({Colour.RED: 1, Pair(1, 2): 2})) == {Colour.RED: 1, Pair(1, 2): 2}
assert OWN.decode(OWN.encode([Send("n", 1), Path("a")])) == [Send("n", 1), Path("a")]

CLASSES, OTHERS = "name its class", "Keep a text"
REFUSED = {
    "$.b is a __main__.Colour": ({"b": Colour.RED}, CLASSES),
    "$.c is a __main__.Point": ({"c": Point(1)}, CLASSES),
    "$.p[0] is a __main__.Pair": ({"p": [Pair(1, 2)]}, CLASSES),
    "$.d is a builtins.function": ({"d": lambda: 0}, OTHERS),
    '$["f g"] is a builtins.object': ({"f g": object()}, OTHERS),
    "$.e[1] is a builtins.generator": ({"e": {1: (x for x in "")}}, OTHERS),
    "$.g (key) is a __main__.Colour": ({"g": {Colour.RED: 1}}, CLASSES),
    "$.j is a builtins.type": ({"j": int}, OTHERS),
}
for path, (value, cure) in REFUSED.items():
    refused = ""
    try:
        PLAIN.encode(value)
    except InvalidValue as error:
        refused = str(error)
    assert path in refused, (path, refused)
    assert cure in refused, refused

# What a record names is looked up in the list, and nothing is imported for it.
for name in ("os.system", "__main__.Point", "builtins.eval", "subprocess.Popen", 7, None):
    try:
        PLAIN.decode({"$type": name, "value": ["echo no"]})
    except InvalidValue:
        continue
    raise AssertionError(name)
for form in ("pickle", "msgpack"):
    try:
        PLAIN.loads_typed((form, b"\x80\x04N."))
    except InvalidValue:
        continue
    raise AssertionError(form)
print(json.dumps({"same": len(SAME), "refused": len(REFUSED)}))
