"""The sources that an agent consists of: its modules, the own modules they import, its files.

Own is what no package index delivers: modules of the agent's distribution, and of folders that are
neither Python's nor site-packages. Gatepost itself is not; of packages the versions are noted.
Imports are read from the sources, so the answer does not depend on what happens to be loaded;
comments, docstrings and formatting are no part of it.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Final

from .source_parts import Part, parts_of_bytes, parts_of_source

_GATEPOST: Final = Path(__file__).resolve().parents[2]
_FLOORS: Final = tuple(
    str(_GATEPOST / floor) + os.sep
    for floor in ("checkpoints", "approvals", "workers", "dashboard", "gatepost")
)
_LIBRARIES: Final = tuple(
    {
        str(Path(path).resolve()) + os.sep
        for name, path in sysconfig.get_paths().items()
        if name in ("stdlib", "platstdlib", "purelib", "platlib")
    }
)
MODULES_MAX: Final = 2_000


@dataclass(frozen=True, slots=True)
class Module:
    """A module by its name and file; `package` where it is an __init__."""

    name: str
    file: Path | None

    @property
    def package(self) -> bool:
        return self.file is not None and self.file.name == "__init__.py"

    @property
    def shown(self) -> str:
        """Its path within the folder from which it is imported."""
        path = self.name.replace(".", "/")
        if self.file is None:
            return path
        return f"{path}/__init__.py" if self.package else f"{path}{''.join(self.file.suffixes)}"


def own_modules(parts: Iterable[ModuleType]) -> tuple[list[Module], set[str]]:
    """(the parts and the own modules that they import, however deep; packages of others)."""
    begun = [Module(m.__name__, Path(m.__file__) if m.__file__ else None) for m in parts]
    results = {module.name: module for module in begun}
    tops = {name.partition(".")[0] for name in results}
    own = tops | _same_distribution(tops, begun)
    others: set[str] = set()
    left = list(results.values())
    while left and len(results) < MODULES_MAX:
        for name in _imported(left.pop()):
            if name in results:
                continue
            file = _file_of(name)
            if file is None:
                continue
            if not _is_own(name, file, own):
                others.add(name.partition(".")[0])
                continue
            results[name] = module = Module(name, file)
            left.append(module)
    return [results[name] for name in sorted(results)], others


def parts_of_modules(modules: Iterable[Module]) -> list[Part]:
    """The parts of each module, in the order of its source."""
    parts: list[Part] = []
    for module in modules:
        data = _bytes(module.file)
        if module.file is not None and module.file.suffix == ".py":
            parts += parts_of_source(module.shown, data)
        else:
            parts += parts_of_bytes(module.shown, data)
    return parts


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """{distribution: version} of imported packages; what Python brings has none."""
    results: dict[str, str] = {}
    for name in sorted(set(names) - sys.stdlib_module_names):
        for distribution in _distributions().get(name, ()):
            results[distribution] = metadata.version(distribution)
    return results


def _bytes(file: Path | None) -> bytes:
    try:
        return b"" if file is None else file.read_bytes()
    except OSError:
        return b""


def _imported(module: Module) -> Iterator[str]:
    """The names that a module imports, wherever in it, with the packages that they lie in."""
    if module.file is None or module.file.suffix != ".py":
        return
    seen: set[str] = set()
    for level, base, names in _imports(_bytes(module.file)):
        origin = _absolute(module, level, base)
        for name in (origin, *(f"{origin}.{n}" if origin else n for n in names)):
            steps = name.split(".")
            for n in range(1, len(steps) + 1):
                prefix = ".".join(steps[:n])
                if prefix and prefix not in seen:
                    seen.add(prefix)
                    yield prefix


def _absolute(module: Module, level: int, base: str) -> str:
    if not level:
        return base
    steps = module.name.split(".")
    steps = steps[: len(steps) - level + module.package]
    return ".".join((*steps, base)) if base else ".".join(steps)


@lru_cache(maxsize=1024)
def _imports(source: bytes) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
    """(level, module, names) of each import statement and import by a name that is written out."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    results: list[tuple[int, str, tuple[str, ...]]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            results += [(0, alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            results.append((node.level, node.module or "", tuple(a.name for a in node.names)))
        elif isinstance(node, ast.Call) and node.args and _called(node) in _BY_NAME:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                results.append((0, first.value, ()))
    return tuple(results)


_BY_NAME: Final = ("import_module", "__import__")


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


# ---- where modules lie ---------------------------------------------------------------------------


def _file_of(name: str) -> Path | None:
    """The file of a module, found without importing anything; None for what has none."""
    top, _, rest = name.partition(".")
    spec = _spec(top)
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.has_location and spec.origin else None
    for folder in spec.submodule_search_locations or ():
        base = Path(folder, *rest.split("."))
        if (base / "__init__.py").is_file():
            return base / "__init__.py"
        for suffix in importlib.machinery.all_suffixes():
            if suffix != ".pyc" and (file := base.with_name(base.name + suffix)).is_file():
                return file
    return None


def _spec(top: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(top) if top.isidentifier() else None
    except (ImportError, ValueError, AttributeError):
        return None


def _is_own(name: str, file: Path, own: set[str]) -> bool:
    path = str(file.resolve())
    if path.startswith(_FLOORS):
        return False
    return name.partition(".")[0] in own or not _in_library(path)


def _in_library(path: str) -> bool:
    return path.startswith(_LIBRARIES) or "site-packages" in path or "dist-packages" in path


def _same_distribution(tops: set[str], modules: Iterable[Module]) -> set[str]:
    """The top-level names that one installed distribution brings together with these."""
    if not any(m.file is not None and _in_library(str(m.file.resolve())) for m in modules):
        return set()
    named = _distributions()
    ours = {d for top in tops for d in named.get(top, ())}
    return {top for top, distributions in named.items() if not ours.isdisjoint(distributions)}


@lru_cache(maxsize=1)
def _distributions() -> dict[str, list[str]]:
    return {top: sorted(set(names)) for top, names in metadata.packages_distributions().items()}


# ---- files that it declares ----------------------------------------------------------------------


def declared_files(home: str, patterns: Iterable[str]) -> dict[str, Path]:
    """{path from `home`: file} of what globs name; raises FileNotFoundError for one without any."""
    results: dict[str, Path] = {}
    for pattern in patterns:
        files = [f for f in Path(home).glob(pattern) if f.is_file()]
        if not files:
            raise FileNotFoundError(pattern)
        results |= {Path(os.path.relpath(f, home)).as_posix(): f for f in files}
    return dict(sorted(results.items()))
