"""Garbage for a queue, generated: what no doorbell looks like, and doorbells with forged parts."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

type Letter = dict[str, Any]
WRONG: list[Any] = [
    None,
    0,
    -1,
    1.5,
    1e308,
    True,
    "",
    "x",
    [],
    [1],
    {},
    {"a": 1},
    "\u0000",
    "9" * 400,
]
TASKS = ["os.system", "gatepost.nothing", "celery.chord", "celery.backend_cleanup", "", "a.b.c"]
FORGED: dict[str, list[Any]] = {
    "timelimit": [[0.001, 0.001], [1, 1], ["x", "y"], [-1, None], 5, [None], [1e-9, None]],
    "eta": ["2999-01-01T00:00:00+00:00", "1970-01-01T00:00:00", "x", 5, "9" * 100],
    "retries": [-1, 10**9, "many"],
    "reply_to": ["gatepost", "x" * 5000, 5],
    "group": ["g", 5, {}],
    "chord": ["c", {"body": {}}],
    "id": ["", "same", 5, None, "x" * 5000],
    "root_id": [None, 5],
    "replaced_task_nesting": [10**6, "x"],
    "stamped_headers": [["a"], 5],
    "stamps": [{"a": ["b"]}, 5],
    "compression": ["gzip", "bzip2", "x"],
    "argsrepr": [5, "x" * 5000],
    "origin": [None, 5],
    "shadow": ["gatepost.canary", 5],
    "lang": ["js", None],
    "ignore_result": [False, "x"],
    "gatepost_request": ["\n", 5, "x" * 5000],
}
PROPERTIES: dict[str, list[Any]] = {
    "priority": [-1, 99, "x", None, 10**30, [0]],
    "delivery_info": [None, [], "x", {}, {"exchange": 5, "routing_key": None}, 7],
    "delivery_tag": [None, "same", 5, [], {}],
    "body_encoding": [None, "x", "utf-8", 5, []],
    "correlation_id": [None, 5, "x" * 5000],
    "reply_to": ["gatepost", 5],
    "delivery_mode": ["x", None],
}


def letter(args: Any = None, kwargs: Any = None, *, raw: bytes | None = None) -> Letter:
    """An honest message for `advance`, with any arguments or any body."""
    ident = str(uuid4())
    parts: Any = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    message = json.dumps([[str(uuid4())] if args is None else args, kwargs or {}, parts]).encode()
    return {
        "body": base64.b64encode(message if raw is None else raw).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"lang": "py", "task": "gatepost.advance", "id": ident, "root_id": ident},
        "properties": {
            "correlation_id": ident,
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": "gatepost"},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": str(uuid4()),
        },
    }


def _nested(depth: int, pair: str) -> str:
    begin, end = {"[": ("[", "]"), "{": ('{"a":', "}")}[pair]
    return begin * depth + ("1" if pair == "{" else "") + end * depth


def _noise(chance: random.Random) -> bytes:
    return chance.randbytes(chance.choice([0, 1, 2, 7, 100, 5000]))


def _cut(chance: random.Random) -> str:
    text = json.dumps(letter())
    return text[: chance.randrange(len(text))]


def _flipped(chance: random.Random) -> bytes:
    text = bytearray(json.dumps(letter()).encode())
    for _ in range(chance.randrange(1, 6)):
        text[chance.randrange(len(text))] = chance.randrange(256)
    return bytes(text)


def _without(chance: random.Random) -> str:
    made = letter()
    for name in chance.sample(sorted(made), chance.randrange(1, 4)):
        del made[name]
    return json.dumps(made)


def _wrong_part(chance: random.Random) -> str:
    made = letter()
    made[chance.choice(sorted(made))] = chance.choice(WRONG)
    return json.dumps(made)


def _wrong_header(chance: random.Random) -> str:
    made = letter()
    name = chance.choice(["task", "expires", *FORGED])
    made["headers"][name] = chance.choice([*WRONG, *FORGED.get(name, TASKS)])
    return json.dumps(made)


def _wrong_property(chance: random.Random) -> str:
    made = letter()
    name = chance.choice(sorted(PROPERTIES))
    made["properties"][name] = chance.choice([*WRONG, *PROPERTIES[name]])
    return json.dumps(made)


def _missing(chance: random.Random) -> str:
    made = letter()
    part = made[chance.choice(["headers", "properties"])]
    for name in chance.sample(sorted(part), chance.randrange(1, len(part) + 1)):
        del part[name]
    return json.dumps(made)


def _wrong_args(chance: random.Random) -> str:
    args = chance.choice([[], [None], [5], [[]], [{}], ["x"], ["x", "y"], {"a": 1}, "x", 5, None])
    return json.dumps(letter(args, chance.choice([{}, {"a": 1}, {"thread_id": "x"}, [], 5])))


def _wrong_body(chance: random.Random) -> str:
    deep = _nested(chance.choice([2_000, 100_000]), chance.choice("[{")).encode()
    raw = chance.choice(
        [b"", b"null", b"5", b"[]", b"[[]]", b"{}", b"x", b"\xff\xfe", b"NaN", deep]
    )
    return json.dumps(letter(raw=raw))


def _wrong_base64(chance: random.Random) -> str:
    made = letter()
    made["body"] = chance.choice([made["body"][:-1], "=", "!!!", "a" * 5, made["body"] + "\n!"])
    return json.dumps(made)


def _wrong_content(chance: random.Random) -> str:
    made = letter()
    made["content-type"] = chance.choice(
        ["application/x-python-serialize", "application/x-yaml", "application/x-msgpack", "x", 5]
    )
    made["content-encoding"] = chance.choice(["binary", "utf-16", "rot13", "nothing", None, 7])
    return json.dumps(made)


def _scalar(chance: random.Random) -> str:
    return json.dumps(chance.choice([*WRONG, [1, 2, 3], [[], {}, {}], "gatepost.advance"]))


def _deep(chance: random.Random) -> str:
    return _nested(chance.choice([900, 5_000, 100_000]), chance.choice("[{"))


def _huge(chance: random.Random) -> str:
    made = letter()
    size = chance.choice([20_000, 300_000, 3_000_000])
    where = chance.choice(["body", "more", "headers"])
    if where == "headers":
        made["headers"] |= {f"h{n}": "x" for n in range(size // 10)}
    else:
        made[where] = "A" * size
    return json.dumps(made)


def _old_protocol(chance: random.Random) -> str:
    made = letter(raw=json.dumps({"task": "gatepost.advance", "id": "x", "args": ["x"]}).encode())
    made["headers"] = chance.choice([{}, None, {"redelivered": True}])
    return json.dumps(made)


def _text(chance: random.Random) -> str:
    return "".join(chance.choices(string.printable, k=chance.randrange(1, 200)))


KINDS: list[Callable[[random.Random], str | bytes]] = [
    *(_noise, _cut, _flipped, _without, _wrong_part, _wrong_header, _wrong_property, _missing),
    *(_wrong_args, _wrong_body, _wrong_base64, _wrong_content, _scalar, _deep, _huge),
    *(_old_protocol, _text),
]


def poisons(number: int, *, seed: int) -> Iterator[bytes]:
    """So many, of all kinds in turn; the same for the same seed but for the ids in them."""
    chance = random.Random(seed)
    for n in range(number):
        made = KINDS[n % len(KINDS)](chance)
        yield made.encode("utf-8", "surrogatepass") if isinstance(made, str) else made
