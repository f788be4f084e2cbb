"""`python -m tests.house.mutants [--promise N,...] [--rows A12,...]`: each patch breaks a promise,
and a test must see it.

A patch begins with lines "Promise: N", "Breaks: what it does" and "Caught by: tests to run"; one
that breaks rows of docs/requirements.md has a line "Rows: A12 B20"; its tests carry these. It is
applied to a scratch copy of the tree, the named tests run there, and it is reverted: the next one
finds the other modules compiled. A mutant that no test turns red for, or that breaks the tests in
another way than by failing, fails the run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[3]
PATCHES = Path(__file__).parent
PROMISES = range(1, 12)
LIMIT_S = 600
FAILED = 1  # pytest: tests were collected, and some failed


@dataclass(frozen=True, slots=True)
class Mutant:
    """One patch and what it says of itself."""

    path: Path
    promise: int
    breaks: str
    caught_by: tuple[str, ...]
    rows: tuple[str, ...] = ()


def read(path: Path) -> Mutant:
    """A patch with its heading; ValueError when that is not in form."""
    head = path.read_text().partition("\ndiff --git ")[0]
    fields = dict(re.findall(r"^(Promise|Rows|Breaks|Caught by): (.+)$", head, re.M))
    rows = tuple(fields.pop("Rows", "").split())
    if set(fields) != {"Promise", "Breaks", "Caught by"}:
        raise ValueError(f"{path.name}: its heading is not in form")
    caught_by = tuple(fields["Caught by"].split())
    return Mutant(path, int(fields["Promise"]), fields["Breaks"], caught_by, rows)


def mutants() -> list[Mutant]:
    """All of them, by promise."""
    return sorted(map(read, PATCHES.glob("*.patch")), key=lambda m: (m.promise, m.path.name))


def copy_of_the_tree(folder: Path) -> None:
    """What git knows of, as it stands in the working tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (source := ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def apply(patch: Path, tree: Path, *options: str) -> str:
    """Apply a patch to a scratch copy; git's error, or nothing."""
    applied = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", *options, str(patch)],
        cwd=tree,
        env=os.environ | {"GIT_CEILING_DIRECTORIES": str(tree.parent)},
        capture_output=True,
        text=True,
    )
    return applied.stderr.strip() if applied.returncode else ""


def survived(mutant: Mutant, tree: Path) -> str:
    """Why the mutant lives on in a scratch copy; empty when a test turned red for it."""
    if error := apply(mutant.path, tree):
        return f"the patch no longer applies: {error}"
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", *mutant.caught_by],
            cwd=tree,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return f"the tests did not end within {LIMIT_S} s"
    finally:
        if error := apply(mutant.path, tree, "--reverse"):
            raise RuntimeError(f"{mutant.path.name} cannot be reverted: {error}")
    last = ran.stdout.strip().splitlines()[-1:] or [ran.stderr.strip()[-300:]]
    if ran.returncode == 0:
        return f"no test saw it: {last[0]}"
    if ran.returncode != FAILED or not re.search(r"\d+ failed", ran.stdout):
        return f"the tests could not run: {last[0]}"
    return ""


def timed(mutant: Mutant, trees: Queue[Path]) -> tuple[str, float]:
    """(why it lives on or nothing, the seconds that it took)."""
    tree = trees.get()
    began = time.monotonic()
    try:
        return survived(mutant, tree), time.monotonic() - began
    finally:
        trees.put(tree)


def main(arguments: Sequence[str]) -> int:
    """Run the mutants; 1 if any survives or a promise has none."""
    parser = argparse.ArgumentParser(prog="python -m tests.house.mutants", description=__doc__)
    parser.add_argument("--promise", default="", help="only these, such as 3,8")
    parser.add_argument("--rows", default="", help="only those of these rows, such as A12,B20")
    parser.add_argument("--jobs", type=int, default=2, help="how many at the same time")
    options = parser.parse_args(arguments)
    wanted = {int(n) for n in options.promise.split(",") if n}
    rows = {ident for ident in options.rows.split(",") if ident}
    chosen = [
        mutant
        for mutant in mutants()
        if (not wanted or mutant.promise in wanted) and (not rows or rows & set(mutant.rows))
    ]
    alive = 0
    with (
        tempfile.TemporaryDirectory(prefix="gp-mutants-") as scratch,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        trees: Queue[Path] = Queue()
        for number in range(options.jobs):
            copy_of_the_tree(tree := Path(scratch, str(number)))
            trees.put(tree)
        results = pool.map(lambda mutant: timed(mutant, trees), chosen)
        for mutant, (why, seconds) in zip(chosen, results, strict=True):
            alive += bool(why)
            result = f"SURVIVED, {why}" if why else "caught"
            text = f"{mutant.breaks}: {result} ({seconds:.0f} s)"
            print(f"promise {mutant.promise:2}  {text}", flush=True)
    bare: list[str] = sorted(rows - {row for mutant in chosen for row in mutant.rows})
    if not rows:
        needed = wanted or set(PROMISES)
        bare = [f"promise {n}" for n in sorted(needed - {m.promise for m in chosen})]
    if bare:
        print(f"no mutant for {', '.join(bare)}")
    print(f"mutants: {len(chosen) - alive} of {len(chosen)} caught")
    return 1 if alive or bare else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
