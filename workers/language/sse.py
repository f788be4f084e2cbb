"""The JSON objects in the body of an answer, whether it is a stream of events or one document.

Servers mix the two: streams without blank lines or prefixes, documents under the media type of a
stream, streams where a document was asked for. So the bytes decide, not the header.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from checkpoints.outbound.event_lines import EventLines, LongLine

_FIELD = re.compile(r"(?:event|id|retry)\s*:|:")
_DATA = re.compile(r"(?:\s*data\s*:)+\s*")  # some gateways put the prefix before one that is there
_BLANK = re.compile(r"\s*")
NO_LIMIT = 1 << 40
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Piece:
    """One object of an answer, with the name of its event.

    `is_end` for the mark `[DONE]`; `text` is data that is no JSON, `is_damaged` if it began so.
    """

    value: dict[str, Any] | None = None
    name: str = ""
    text: str = ""
    is_end: bool = False
    is_damaged: bool = False


def lines(chunks: Iterable[bytes], longest: int) -> Iterator[str]:
    """The lines of a body that comes in chunks; LongLine."""
    reader = EventLines(longest)
    for chunk in chunks:
        yield from reader.feed(chunk)
    yield reader.rest()


def pieces(chunks: Iterable[bytes], longest: int = NO_LIMIT) -> Iterator[Piece]:
    """The pieces of a body, in order; LongLine for one of more than `longest` bytes."""
    name, open_lines = "", list[str]()
    for line in lines(chunks, longest):
        if open_lines and sum(map(len, open_lines)) > longest:
            raise LongLine
        if prefix := _DATA.match(line):
            open_lines.append(line[prefix.end() :])
        elif _FIELD.match(line) and not _is_document(open_lines):
            name = line.partition(":")[2].strip() if line.startswith("event") else name
            continue
        elif line.strip():
            open_lines.append(line)
        elif not _is_document(open_lines):
            if open_lines:
                yield from _rest(open_lines, name)
            name, open_lines = "", []
            continue
        # Some servers leave out the empty line: what is whole is not waited for.
        if len(open_lines) == 1 and (whole := _objects(open_lines[0], name)) is not None:
            yield from whole
            open_lines = []
    if open_lines:
        yield from _rest(open_lines, name)


def _is_document(open_lines: list[str]) -> bool:
    """True inside of a JSON document that goes over several lines."""
    return bool(open_lines) and open_lines[0].strip() in ("{", "[", "[{")


def _rest(open_lines: list[str], name: str) -> Iterator[Piece]:
    """Lines that were no JSON one by one."""
    text = "\n".join(open_lines)
    if (whole := _objects(text, name)) is not None:
        yield from whole
        return
    for line in open_lines:
        whole = _objects(line, name)
        yield from [_unread(line, name)] if whole is None else whole


def _unread(text: str, name: str) -> Piece:
    return Piece(name=name, text=text.strip(), is_damaged=text.lstrip()[:1] in ("{", "["))


def _objects(text: str, name: str) -> list[Piece] | None:
    """The objects of a text, None where it is no JSON; also several behind each other."""
    result: list[Piece] = []
    at = _skip(text, 0)
    while at < len(text):
        if text.startswith("[DONE]", at):
            result.append(Piece(name=name, is_end=True))
            at = _skip(text, at + 6)
            continue
        try:
            value, at = _DECODER.raw_decode(text, at)
        except RecursionError:
            return [*result, Piece({}, name)]  # whole, but too deep to be an answer
        except ValueError:
            return None
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                result.append(Piece(item, name))
            elif isinstance(item, str) and item:
                result.append(Piece(name=name, text=item))
        at = _skip(text, at)
    return result


def _skip(text: str, at: int) -> int:
    prefix = _DATA.match(text, at) or _BLANK.match(text, at)
    return prefix.end() if prefix else at
