"""Size of the product: lines and files per room, circles of files and rooms. `make size`."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOORS = (
    "checkpoints",
    "approvals",
    "workers",
    "gatepost",
    "agents",
    "dashboard",
    "clients",
)
TWIN_LINES = 6
PASSED_OVER = ("import ", "from ", "#", '"""')

type Arrows = dict[str, set[str]]


def modules(floors: tuple[str, ...] = FLOORS) -> dict[str, Path]:
    """{module name: file} of the product or of other top folders, without migrations."""
    return {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__").removeprefix("agents."): path
        for path in _files("*.py", floors)
    }


def sql_files() -> list[Path]:
    """The files of the product with the longer statements of the module beside them."""
    return _files("*.sql")


def _files(pattern: str, floors: tuple[str, ...] = FLOORS) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", pattern],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [
        path
        for path in map(Path, filter(None, listed.split("\0")))
        if path.parts[0] in floors and "migrations" not in path.parts and (ROOT / path).is_file()
    ]


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file, shared by all who read it: there are many rules."""
    return ast.parse(path.read_text())


def imports(known: Mapping[str, Path]) -> Arrows:
    """{module: modules of the same floor that it imports}, anywhere in its text."""
    arrows: Arrows = {}
    for module, path in known.items():
        package = path.with_suffix("").parts[:-1]
        reached: set[str] = set()
        for node in ast.walk(parsed(ROOT / path)):
            if isinstance(node, ast.Import):
                reached |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                start = package[: len(package) - node.level + 1] if node.level else ()
                base = ".".join([*start, *([node.module] if node.module else [])])
                for alias in node.names:
                    full = f"{base}.{alias.name}"
                    reached.add(full if full in known else base)
        floor = path.parts[0]
        arrows[module] = {m for m in reached & set(known) - {module} if m.split(".")[0] == floor}
    return arrows


def room_of(module: str, known: Mapping[str, Path]) -> str:
    """The folder of a module; a module at the top of its floor is a room of its own."""
    if known[module].name == "__init__.py":
        return module
    folder = module.rpartition(".")[0]
    return module if folder in FLOORS else folder


def rooms(known: Mapping[str, Path], arrows: Arrows) -> Arrows:
    """{room: rooms that it imports}; what a package's own `__init__` re-exports is no arrow."""
    between: Arrows = defaultdict(set)
    for module, reached in arrows.items():
        if known[module].name == "__init__.py":
            continue
        here = room_of(module, known)
        between[here] |= {room_of(other, known) for other in reached} - {here}
    return dict(between)


def circles(arrows: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups in which each reaches each other, by Tarjan's algorithm."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(one: str) -> None:
        number[one] = low[one] = len(number)
        stack.append(one)
        for other in arrows.get(one, ()):
            if other not in number:
                visit(other)
                low[one] = min(low[one], low[other])
            elif other in stack:
                low[one] = min(low[one], number[other])
        if low[one] == number[one]:
            at = stack.index(one)
            group = stack[at:]
            del stack[at:]
            if len(group) > 1:
                groups.append(sorted(group))

    for one in arrows:
        if one not in number:
            visit(one)
    return groups


def twins(paths: Iterable[Path]) -> int:
    """Runs of six or more equal lines that stand at a second place; no imports, no blank lines."""
    places: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path in paths:
        lines = [line.strip() for line in (ROOT / path).read_text().splitlines()]
        significant = [one for one in lines if len(one) > 3 and not one.startswith(PASSED_OVER)]
        for at in range(len(significant) - TWIN_LINES + 1):
            places[tuple(significant[at : at + TWIN_LINES])].append((path, at))
    again = {position for at in places.values() for position in at[1:]}
    # A longer run has many windows of six lines: only its first one counts.
    return sum((path, at - 1) not in again for path, at in again)


def template_line() -> float:
    """Mean length in characters of a line of the templates that is not empty."""
    lines = [
        line
        for path in _files("*.html", ("templates",))
        for line in (ROOT / path).open()
        if line.strip()
    ]
    return sum(len(line.rstrip("\n")) for line in lines) / len(lines)


def main() -> int:
    sys.setrecursionlimit(10_000)
    known = modules()
    arrows = imports(known)
    facades = {m for m, path in known.items() if path.name == "__init__.py"}
    between = rooms(known, arrows)
    lines: Counter[str] = Counter()
    for path in (*known.values(), *sql_files()):
        lines[str(path.parent)] += len((ROOT / path).read_text().splitlines())
    levels = Counter(str(path.parent) for path in known.values())
    print(f"{'files':>5} {'lines':>6}  room")
    for room in sorted(levels):
        print(f"{levels[room]:5} {lines[room]:6}  {room}")
    for floor in FLOORS:
        n = sum(count for room, count in lines.items() if room.split("/")[0] == floor)
        out = sum(len(v) for k, v in between.items() if k.split(".")[0] == floor)
        print(f"{n:12}  {floor}, {out} arrows between its rooms")
    print(f"{sum(lines.values()):12}  lines of product code in {len(known)} files")
    print(
        "circles of files:",
        circles({k: v for k, v in arrows.items() if k not in facades}) or "none",
    )
    print("circles of rooms:", circles(between) or "none")
    print("twins (runs of six equal lines):", twins(known.values()))
    print(f"mean length of a template line: {template_line():.0f} characters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
