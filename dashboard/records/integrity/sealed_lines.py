"""JSON Lines with a seal: the last line counts those between and signs every byte before it.

A file that was cut off, altered, or signed with another key is told from a whole one before
anything in it is believed.
"""

from __future__ import annotations

import hmac
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from dashboard.errors import Invalid

# A name of a file may be 255 characters of four bytes, each escaped by six.
LINE_MAX = 16_000


def write(path: Path, key: bytes, begin: Mapping[str, Any], lines: Iterable[Any]) -> str:
    """Write the file, which appears whole or not at all; returns its signature."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            seal = hmac.new(key, digestmod=sha256)
            _line(file, seal, begin)
            n = 0
            for line in lines:
                _line(file, seal, line)
                n += 1
            signature = seal.hexdigest()
            file.write(json.dumps({"lines": n, "signature": signature}).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
    return signature


def check(
    path: Path, key: bytes | None, *, form: str, option: str, what: str, hint: str
) -> dict[str, Any]:
    """Return the first line; raises Invalid unless the file is whole and signed with this key.

    Without a key anybody's signature is accepted, and cut-off ends are still found. `what` names
    the kind of file, `hint` says which key it needs.
    """
    try:
        with path.open("rb") as file:
            seal = hmac.new(key or b"", digestmod=sha256)
            first = file.readline(LINE_MAX)
            seal.update(first)
            begin = _json(first)
            if begin.get("form") != form:
                raise Invalid(option, f"{path} is not {what} of Gatepost")
            n, line = 0, file.readline(LINE_MAX)
            while line and not _is_last(line):
                seal.update(line)
                n, line = n + 1, file.readline(LINE_MAX)
            end = _json(line)
            signed = hmac.compare_digest(str(end.get("signature", "")), seal.hexdigest())
            if not (signed or key is None) or end.get("lines") != n or file.read(1):
                raise Invalid(
                    option, f"{path} was altered, cut off, or signed with another key; {hint}"
                )
    except OSError as error:
        raise Invalid(option, f"{path} cannot be read: {error.strerror}") from error
    return begin


def between(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines between the first and the last, of a file that was checked."""
    with path.open("rb") as file:
        file.readline(LINE_MAX)
        for line in file:
            if _is_last(line):
                return
            yield json.loads(line)


def _line(file: IO[bytes], seal: hmac.HMAC, content: Any) -> None:
    raw = json.dumps(content).encode() + b"\n"
    seal.update(raw)
    file.write(raw)


def _is_last(line: bytes) -> bool:
    # Inside of a value its quotes would be escaped.
    return b'"signature":' in line


def _json(line: bytes) -> dict[str, Any]:
    try:
        payload = json.loads(line)
    except ValueError:
        return {}
    return payload if isinstance(payload, dict) else {}
