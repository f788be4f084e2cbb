"""SQL files: the longer statements of a module, named and described, in a `.sql` file beside it.

A statement begins with `-- name -- Description.` and ends where the next one begins:

    -- open_requests -- Requests of a workspace that wait for somebody, oldest first.
    SELECT {columns} FROM gp_approval a
    WHERE a.workspace_id = %s::uuid AND a.status = 'pending'

Lines that are comments only are for readers and are not sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_HEADING = re.compile(r"-- (?P<name>[a-z][a-z0-9_]*) --(?P<description>.*)")
_PIECE = re.compile(r"\{([a-z][a-z0-9_]*)\}")


class SqlFileError(ValueError):
    """A `.sql` file does not have the form; raised while its module is imported."""


class Statements:
    """The statements of a file, each an attribute."""

    __slots__ = ("_name", "_texts")

    def __init__(self, name: str, texts: Mapping[str, str]) -> None:
        self._name = name
        self._texts = texts

    def __getattr__(self, name: str) -> str:
        try:
            return self._texts[name]
        except KeyError:
            raise AttributeError(f"{self._name} has no statement {name!r}") from None


def sql_file(module: str, **pieces: str) -> Statements:
    """Read the `.sql` file beside a module (its `__file__`) and fill in each `{piece}`.

    A piece is an argument or a statement further up in the file. Raises SqlFileError for a
    statement without description, a name that occurs twice, a piece that is unknown or not used.
    """
    path = Path(module).with_suffix(".sql")
    texts: dict[str, str] = {}
    unused = set(pieces)

    def piece(match: re.Match[str]) -> str:
        unused.discard(name := match[1])
        if name not in pieces and name not in texts:
            raise SqlFileError(f"{path.name}: {{{name}}} is not an argument and no statement above")
        return pieces[name] if name in pieces else texts[name]

    for name, text in parse(path.name, path.read_text()).items():
        if name in pieces:
            raise SqlFileError(f"{path.name}: {name} is an argument and a statement")
        texts[name] = _PIECE.sub(piece, text)
    if unused:
        raise SqlFileError(f"{path.name}: no statement uses {', '.join(sorted(unused))}")
    return Statements(path.name, texts)


def parse(file: str, text: str) -> dict[str, str]:
    """{name: statement} with `{pieces}` as they are written; raises SqlFileError."""
    lines: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        if heading := _HEADING.fullmatch(line.rstrip()):
            if not heading["description"].strip():
                raise SqlFileError(f"{file}: {heading['name']} has no description")
            if heading["name"] in lines:
                raise SqlFileError(f"{file}: {heading['name']} occurs twice")
            current = lines[heading["name"]] = []
        elif line.strip() and not line.lstrip().startswith("--"):
            if current is None:
                raise SqlFileError(f"{file}: a statement needs a name: -- name -- Description.")
            current.append(line.rstrip())
    if empty := [name for name, body in lines.items() if not body]:
        raise SqlFileError(f"{file}: {empty[0]} has no statement")
    return {name: "\n".join(body) for name, body in lines.items()}


def pieces_of(text: str) -> set[str]:
    """The names of the `{pieces}` in a statement."""
    return set(_PIECE.findall(text))
