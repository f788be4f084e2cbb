"""`make check` runs every test file once: each lies in one of the lanes that work side by side."""

import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def lanes() -> list[str]:
    """The targets that `make check` starts beside the style checks."""
    makefile = (ROOT / "Makefile").read_text()
    (started,) = re.findall(r"^check: .*\n\t@\$\(MAKE\) -j4 lint \$\(LANES\)$", makefile, re.M)
    assert started
    (names,) = re.findall(r"^LANES := (.+)$", makefile, re.M)
    return list(names.split())


def pytest_arguments(lane: str) -> list[str]:
    """What a lane gives to pytest."""
    command = ["make", "--dry-run", "--no-print-directory", lane]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in printed.splitlines() if "-m pytest" in line]
    return shlex.split(line.split("-m pytest", 1)[1])


def is_below(file: Path, folders: list[str]) -> bool:
    return any(file.is_relative_to(folder) for folder in folders)


def test_every_test_file_is_in_exactly_one_lane() -> None:
    files = [file.relative_to(ROOT) for file in (ROOT / "tests").rglob("test_*.py")]
    assert len(files) > 300
    chosen: dict[Path, list[str]] = {file: [] for file in files}
    for lane in lanes():
        arguments = pytest_arguments(lane)
        folders = [one for one in arguments if not one.startswith("-")] or ["tests"]
        ignored = [one.removeprefix("--ignore=") for one in arguments if one.startswith("-")]
        assert all((ROOT / one).exists() for one in [*folders, *ignored]), (lane, arguments)
        for file in files:
            if is_below(file, folders) and not is_below(file, ignored):
                chosen[file].append(lane)
    assert {file: lanes for file, lanes in chosen.items() if len(lanes) != 1} == {}
