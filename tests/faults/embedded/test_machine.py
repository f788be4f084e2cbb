"""What the Makefile says on machines that lack something, and that the lock files are clean."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.faults.embedded.helpers import ROOT

pytestmark = pytest.mark.nightly

SHELL = shutil.which("sh") or "/bin/sh"


def fake_python(folder: Path, name: str, *, version: str, venv: bool = True) -> None:
    """A program that answers the two questions of tools/find-python."""
    program = folder / name
    program.write_text(
        "#!/bin/sh\n"
        f'case "$2" in *version_info*) echo {version};; *venv*) exit {0 if venv else 1};; esac\n'
    )
    program.chmod(0o755)


def find_python(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SHELL, ROOT / "tools" / "find-python"],
        env={"PATH": str(path)},
        capture_output=True,
        text=True,
    )


def test_the_newest_suitable_python_is_taken(tmp_path: Path) -> None:
    fake_python(tmp_path, "python3", version="3.15")
    assert find_python(tmp_path).stdout.strip() == str(tmp_path / "python3")
    fake_python(tmp_path, "python3.13", version="3.13")
    assert find_python(tmp_path).stdout.strip() == str(tmp_path / "python3.13")


def test_a_broken_or_bare_one_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "python3.13").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "python3.13").chmod(0o755)
    fake_python(tmp_path, "python3.14", version="3.14", venv=False)
    fake_python(tmp_path, "python3.12", version="3.12")
    assert find_python(tmp_path).stdout.strip() == str(tmp_path / "python3.12")


@pytest.mark.parametrize(
    ("version", "venv", "sentence"),
    [
        ("3.10", True, "needs Python 3.12 or newer and found only 3.10"),
        ("3.13", False, "without its venv module"),
        (None, True, "found none"),
    ],
)
def test_what_is_missing_is_one_sentence(
    tmp_path: Path, version: str | None, venv: bool, sentence: str
) -> None:
    if version:
        fake_python(tmp_path, "python3", version=version, venv=venv)
    answer = find_python(tmp_path)
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert sentence in answer.stderr
    assert "call make again" in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "name", ["requirements.lock", "agents/requirements.lock", "requirements-dev.lock"]
)
def test_the_locks_hold_hashes_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert text.count("--hash=sha256:") > text.count("==") > 20


def test_the_locks_are_in_step_with_the_project() -> None:
    answer = subprocess.run(
        [sys.executable, ROOT / "tools" / "lock.py", "--check"], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stdout


def test_an_installed_environment_is_left_alone(tmp_path: Path) -> None:
    """The second call must cost next to nothing: it only compares a hash."""
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    lock = ROOT / "requirements.lock"
    (folder / ".requirements.stamp").write_text(hashlib.sha256(lock.read_bytes()).hexdigest())
    answer = subprocess.run(
        [sys.executable, ROOT / "tools" / "install.py", lock, "--venv", folder],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": ""},
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


def wheel(folder: Path) -> str:
    """A package of one module as a wheel in the folder; its line for a lock."""
    path = folder / "gatepost_sample-1-py3-none-any.whl"
    info = "gatepost_sample-1.dist-info"
    files = {
        "gatepost_sample.py": "ANSWER = 42\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: gatepost-sample\nVersion: 1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (files | {f"{info}/RECORD": record}).items():
            archive.writestr(name, text)
    return f"gatepost-sample==1 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def test_packages_come_from_where_pip_is_configured_to_look(tmp_path: Path) -> None:
    """uv would ask the public index: it is left out where pip may not, and pip does it alone."""
    lock = tmp_path / "sample.lock"
    lock.write_text(wheel(tmp_path))
    folder = tmp_path / "venv"
    answer = subprocess.run(
        [sys.executable, ROOT / "tools" / "install.py", lock, "--venv", folder],
        capture_output=True,
        text=True,
        env=os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": os.fspath(tmp_path)},
    )
    assert answer.returncode == 0, answer.stderr
    assert "1 packages of sample.lock" in answer.stdout
    code = "import gatepost_sample, importlib.util as u; print(u.find_spec('uv'))"
    python = folder / "bin" / "python"
    imported = subprocess.run([python, "-c", code], capture_output=True, text=True)
    assert imported.stdout == "None\n", imported.stderr
