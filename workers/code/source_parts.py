"""A module's source as parts: functions, methods, classes, names, in a normal form.

The normal form is Python's own rendering of the syntax tree, without docstrings: comments, blank
lines, quotes and line breaks leave no trace in it. What does not parse counts byte by byte.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

TEXT_MAX: Final = 8 * 1024
TEXTS_MAX: Final = 256 * 1024
PARTS_MAX: Final = 500  # of a module
ALL_PARTS_MAX: Final = 5_000
IMPORTS, REST = "imports", "module level"


_BODIES: Final = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor),
    *(ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.ExceptHandler, ast.match_case),
)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a file; the one without a name is the whole of it."""

    file: str
    name: str
    digest: str
    text: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As AgentVersion.code keeps it."""
        more = {} if self.text is None else {"text": self.text}
        return {"file": self.file, "name": self.name, "digest": self.digest, **more}


def bounded(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """The parts as JSON: texts while there is room, only whole files where parts are too many."""
    shown = parts if len(parts) <= ALL_PARTS_MAX else [p for p in parts if not p.name]
    results, room = [], TEXTS_MAX
    for part in shown:
        entry = part.to_json()
        room -= len(part.text or "")
        if room < 0:
            entry.pop("text", None)
        results.append(entry)
    return results


def parts_of_source(file: str, source: bytes) -> list[Part]:
    """The whole module first, then its parts in the order of their first lines."""
    try:
        result = _normal_parts(source)
    except (SyntaxError, ValueError, RecursionError):
        return parts_of_bytes(file, source)
    return [Part(file, name, digest, text) for name, digest, text in result]


def parts_of_bytes(file: str, data: bytes) -> list[Part]:
    """One part, with its text where it is text and small."""
    text: str | None = None
    if len(data) <= TEXT_MAX and b"\0" not in data:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = None
    return [Part(file, "", hashlib.sha256(data).hexdigest(), text)]


@lru_cache(maxsize=1024)
def _normal_parts(source: bytes) -> tuple[tuple[str, str, str | None], ...]:
    """((name, digest, text), ...) of a module."""
    tree = _WithoutDocstrings().visit(ast.parse(source))
    texts: dict[str, list[str]] = {}
    whole: list[str] = []
    for statement in tree.body:
        whole.append(_text_of(statement))
        for name, node in _named(statement):
            text = whole[-1] if node is statement else ast.unparse(node)
            # A second definition of a name is a part of its own; imports and the rest are one each.
            texts.setdefault(_free(name, texts), []).append(text)
    results: list[tuple[str, str, str | None]] = [("", _sha("\n".join(whole)), None)]
    if len(texts) <= PARTS_MAX:
        for name, lines in texts.items():
            text = "\n".join(lines)
            results.append((name, _sha(text), text if len(text) <= TEXT_MAX else None))
    return tuple(results)


def _free(name: str, taken: dict[str, list[str]]) -> str:
    if name in (IMPORTS, REST) or name not in taken:
        return name
    number = 2
    while f"{name} ({number})" in taken:
        number += 1
    return f"{name} ({number})"


def _named(statement: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    """(name, node) of the parts that a statement of a module is."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        yield f"{statement.name}()", statement
    elif isinstance(statement, ast.ClassDef):
        yield from _of_class(statement)
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield IMPORTS, statement
    elif names := _assigned(statement):
        yield ", ".join(names), statement
    else:
        yield REST, statement


def _of_class(node: ast.ClassDef) -> Iterator[tuple[str, ast.stmt]]:
    methods = [s for s in node.body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)]
    rest = [s for s in node.body if s not in methods]
    fields: dict[str, Any] = {name: getattr(node, name, None) for name in node._fields}
    yield f"class {node.name}", ast.ClassDef(**{**fields, "body": rest or [ast.Pass()]})
    for method in methods:
        yield f"{node.name}.{method.name}()", method


def _assigned(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return []
    return [t.id for t in targets if isinstance(t, ast.Name)] if len(targets) < 4 else []


def _text_of(node: ast.stmt) -> str:
    """The rendered node; its tree where rendering loses something."""
    text = ast.unparse(node)
    try:
        again = ast.parse(text)
    except SyntaxError:
        return ast.dump(node)
    same = ast.dump(again) == ast.dump(ast.Module([node], []))
    return text if same else ast.dump(node)


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _WithoutDocstrings(ast.NodeTransformer):
    """Takes out texts that stand as statements, and the prefix of u"..."."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """A body that held nothing else passes."""
        super().generic_visit(node)
        if isinstance(node, _BODIES) and not node.body:
            node.body = [ast.Pass()]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """A statement that is a text says nothing to Python."""
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """u"..." is the same text."""
        node.kind = None
        return node
