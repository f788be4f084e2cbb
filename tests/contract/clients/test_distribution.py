"""The distribution: built, installed into an empty environment, and what it may need and hold."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from .bench import EXAMPLES, ROOT, SOURCES, Script, Server

PROJECT = ROOT / "clients/python"
PACKAGE = SOURCES / "gatepost_client"
HTTPX = ("httpx", "httpcore", "h11", "anyio", "sniffio", "idna", "certifi", "typing_extensions")


def test_it_needs_httpx_only_and_the_oldest_python_can_read_it() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert [need.partition(">")[0] for need in project["dependencies"]] == ["httpx"]
    assert project["requires-python"] == ">=3.10"
    modules = sorted(PACKAGE.rglob("*.py"))
    assert len(modules) >= 15
    for path in modules:
        ast.parse(path.read_text(), feature_version=(3, 10))


@pytest.mark.nightly
def test_built_and_installed_alone_it_works(
    server: Server, script: Callable[..., Script], tmp_path: Path
) -> None:
    build = (sys.executable, "-m", "hatchling", "build", "--target", "wheel")
    subprocess.run([*build, "--directory", tmp_path], cwd=PROJECT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("gatepost_client-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "alone"], check=True)
    own = tmp_path / "alone/bin/python"
    packages_alone = subprocess.check_output(
        [own, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    ).strip()
    # What an index would bring: httpx and what it needs, and nothing else of the tests' packages.
    packages = Path(sysconfig.get_path("purelib"))
    for name in HTTPX:
        source = packages / name if (packages / name).exists() else packages / f"{name}.py"
        if source.exists():
            Path(packages_alone, source.name).symlink_to(source)
    pip = (sys.executable, "-m", "pip", "--python", str(own), "install", "--quiet")
    subprocess.run([*pip, "--no-index", "--no-deps", wheel], check=True)
    held = {
        p.relative_to(packages_alone)
        for p in Path(packages_alone, "gatepost_client").rglob("*")
        if p.is_file()
    }
    wanted = {p.relative_to(SOURCES) for p in PACKAGE.rglob("*") if p.is_file()}
    plain = {p for p in held if "__pycache__" not in p.parts}
    assert plain == {p for p in wanted if "__pycache__" not in p.parts}
    code = "import sys, gatepost_client, gatepost_client.aio; print('django' in sys.modules)"
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [own, "-W", "error", "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.stdout == "False\n", done.stderr
    first = script(str(own), str(EXAMPLES / "invoices.py"), "alone", PYTHONPATH="")
    server.decide(server.wait_thread("invoices-in-python", "alone"))
    assert "ended:" in first.end()
