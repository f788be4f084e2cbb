"""Calls of tools put together from the pieces of a stream, in linear time.

The protocol numbers the calls of an answer by `index`. Servers leave it out, send 0 for each call,
or repeat id and name in every piece, so that id, name and arguments decide together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_MARKS = re.compile(r'["\\{}\[\]]')


class CallPieces:
    """One call: its id and name, and its arguments so far."""

    def __init__(self, identity: str) -> None:
        self.id = identity
        self.name = ""
        self._pieces: list[str] = []
        self._scanned = 0
        self._depth, self._is_text, self._is_escaped = 0, False, False

    @property
    def arguments(self) -> str:
        """The arguments so far, as the model wrote them."""
        return "".join(self._pieces)

    @property
    def has_arguments(self) -> bool:
        return bool(self._pieces)

    def is_whole(self) -> bool:
        """True once the arguments are an object that is closed; each piece is read once."""
        for piece in self._pieces[self._scanned :]:
            self._scan(piece)
        self._scanned = len(self._pieces)
        return bool(self._pieces) and self._depth == 0 and not self._is_text

    def _scan(self, piece: str) -> None:
        at = 0
        if self._is_escaped and piece:
            at, self._is_escaped = 1, False
        while match := _MARKS.search(piece, at):
            mark, at = match[0], match.end()
            if mark == "\\":
                if self._is_text and at == len(piece):
                    self._is_escaped = True
                at += self._is_text
            elif mark == '"':
                self._is_text = not self._is_text
            elif not self._is_text:
                self._depth += 1 if mark in "{[" else -1

    def add_name(self, name: str) -> None:
        """Take a name: the first, the rest of one in pieces, or the same once more."""
        if not self.has_arguments and name != self.name:
            self.name = name if name.startswith(self.name) else self.name + name

    def add_arguments(self, arguments: Any) -> str:
        """Take a piece of the arguments, which some servers send as an object; its text."""
        if arguments is None or arguments == "":
            return ""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        self._pieces.append(text)
        return text


class CallFold:
    """The calls of an answer, in the order in which they begin."""

    def __init__(self) -> None:
        self.calls: list[CallPieces] = []
        self._at: dict[Any, CallPieces] = {}

    def add(self, part: Mapping[str, Any], choice: Any = 0) -> str:
        """Take one piece; the text of the arguments in it."""
        function = part.get("function")
        if not isinstance(function, Mapping):
            function = part  # some gateways leave out the wrapper
        identity, name = str(part.get("id") or ""), str(function.get("name") or "")
        index = part.get("index")
        at = None if index is None else (choice, str(index))
        call = self._call(at, identity, name)
        if at is not None:
            self._at[at] = call
        call.id = call.id or identity
        call.add_name(name)
        return call.add_arguments(function.get("arguments", function.get("parameters")))

    def _call(self, at: Any, identity: str, name: str) -> CallPieces:
        """The call that a piece belongs to, a new one where it begins another."""
        last = self.calls[-1] if self.calls else None
        if last is None:
            return self._begun(identity)
        call = self._at.get(at) if at is not None else None
        if call is None:
            # Without a number, or with one that is new.
            if same := self._of(identity):
                return self._begun(identity) if name and same.is_whole() else same
            if name and at is None and not identity and last.name == name:
                return self._begun(identity) if last.is_whole() else last
            return self._begun(identity) if name or last.is_whole() else last
        if identity and call.id and identity != call.id:
            # Some servers send another id with each piece of one call.
            return self._begun(identity) if name or call.is_whole() else call
        if name and call.name and not identity and call.is_whole():
            return self._begun(identity)
        return call

    def _of(self, identity: str) -> CallPieces | None:
        if not identity:
            return None
        return next((call for call in reversed(self.calls) if call.id == identity), None)

    def _begun(self, identity: str) -> CallPieces:
        self.calls.append(CallPieces(identity))
        return self.calls[-1]
