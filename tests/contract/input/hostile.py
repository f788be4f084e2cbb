"""What people and programs send by mistake or malice; shared by the tests of bodies and uploads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MB = 1024 * 1024
# Values that JSON's grammar or its readers let through and that nobody may store: as JSON text.
POISONS: dict[str, str] = {
    "NaN": "NaN",
    "infinity": "Infinity",
    "minus infinity": "-Infinity",
    "1e999": "1e999",
    "-1e999": "-1e999",
    "1e-999": "1e-999",
    "beyond 2^53": "9007199254740993",
    "beyond -2^53": "-9007199254740993",
    "2^63": "9223372036854775808",
    "5,000 digits": "9" * 5_000,
    "5,000 digits and a fraction": "9" * 5_000 + ".5",
    "more digits than a double": "1.2345678901234567890123",
    "NUL": '"a\\u0000b"',
    "lone high surrogate": '"\\ud800"',
    "lone low surrogate": '"\\udfff"',
    "surrogates the wrong way round": '"\\udc00\\ud800"',
    "key twice": '{"a": 1, "a": 2}',
    "key with NUL": '{"a\\u0000": 1}',
    "key with a lone surrogate": '{"\\ud800": 1}',
    "key of 2,000 characters": '{"' + "k" * 2_000 + '": 1}',
    "depth 101": "[" * 101 + "]" * 101,
    "depth 20,000": "[" * 20_000 + "]" * 20_000,
    "depth 20,000 of objects": '{"a":' * 20_000 + "1" + "}" * 20_000,
    "depth 100,000": "[" * 100_000 + "]" * 100_000,
    "depth 100,000, never closed": "[" * 100_000,
}
# Bodies that are no JSON at all.
UNREADABLE: dict[str, bytes] = {
    "half": b'{"poison":',
    "trailing comma": b'{"poison": 1,}',
    "two values": b"{} {}",
    "single quotes": b"{'poison': 1}",
    "a comment": b"{} // poison",
    "byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"poison": 1}'.encode("utf-16"),
    "Latin-1": '{"poison": "ü"}'.encode("latin-1"),
    "overlong UTF-8": b'{"poison": "\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"poison": "\xed\xa0\x80"}',
    "raw NUL": b'{"poison": "\x00"}',
    "NUL bytes": b"\x00" * 1_000,
    "a control character": b'{"poison": "\x1f"}',
    "a page": b"<!doctype html><p>poison",
    "a form": b"poison=1",
}
NO_OBJECTS = ("[]", '"text"', "5", "1.5", "true", "null", "[{}]")
VALUES: tuple[Any, ...] = (None, True, 5, 1.5, "x", [], ["x"], {}, {"a": 1}, [[]])
TEXTS = ("\0", "x" * 1_001, "9" * 5_000)
ODD_TEXTS = ("-1", "1e3", "٣", "' OR 1=1 --", "%", "\u202e", "😀" * 100, "null", "[]", "NaN", "1,2")
FILE_NAMES = (
    "../../etc/passwd",
    "..\\..\\boot.ini",
    "/etc/passwd",
    "a\x00b.csv",
    "a\r\nSet-Cookie: x=1.csv",
    "\u202egpj.exe",
    "x" * 5_000 + ".csv",
    ".",
    "..",
    " ",
    "con",
    "<script>alert(1)</script>.html",
    '"; filename="b.csv',
    "😀.csv",
)


def with_poison(good: Any, value: str) -> bytes:
    """The good body with one member more, whose value is this JSON text."""
    rest = json.dumps(good or {})[1:]
    return f'{{"poison": {value}{", " if len(rest) > 1 else ""}{rest}'.encode()


def misfits(schema: dict[str, Any], fits: Any) -> Iterator[tuple[str, Any]]:
    """(member, value) that its schema does not allow, for each member."""
    for name, member in schema.get("properties", {}).items():
        for value in VALUES:
            if not fits(member, value):
                yield name, value
        if member.get("format") == "uuid":
            yield from ((name, text) for text in ("", "no-id", "0" * 5_000))
