"""The command `gatepost`, which `manage.py` calls in a clone.

It stands beside the packages and imports none of them at first: a folder of the user may hide any.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final, NoReturn

__version__ = "0.1.0"

STOPPED, PIPE_CLOSED = 130, 141
ROOT: Final = Path(__file__).resolve().parent
# Installed as they are, at the top: these names are taken wherever Gatepost is imported. The agents
# that ship are a distribution of their own, whose name is taken where they are not installed, too.
PACKAGES: Final = (
    "approvals",
    "checkpoints",
    "dashboard",
    "gatepost",
    "gatepost_agents",
    "workers",
)
OURS: Final = (ROOT, ROOT / "agents")
# What a person types here for a command, and to start everything.
IN_CLONE: Final = (ROOT / "manage.py").is_file()
COMMAND: Final = "./manage.py" if IN_CLONE else "gatepost"
START: Final = "make up" if IN_CLONE else "gatepost up"
# The commands whose child processes import from the current folder as well.
WITH_FOLDER: Final = ("up", "agent")


def conflicts(folders: Iterable[str]) -> Iterator[Path]:
    """Yield what these folders hold under a name of ours: it would hide ours, or ours hides it.

    A folder without Python files, such as `checkpoints` with weights, is in nobody's way.
    """
    for folder in dict.fromkeys(os.path.abspath(entry) for entry in folders):
        if Path(folder).resolve() in OURS:
            continue
        for name in PACKAGES:
            spec = PathFinder.find_spec(name, [folder])
            if spec is None:
                continue
            if spec.origin:
                file = Path(spec.origin)
                yield file.parent if spec.submodule_search_locations else file
            else:
                there = Path(folder, name)
                if any(True for pattern in ("*.py", "*/*.py") for _ in there.glob(pattern)):
                    yield there


def _before_ours() -> Iterator[str]:
    """Yield the folders from which Python imports before the one that holds Gatepost."""
    for entry in sys.path:
        folder = entry or os.getcwd()
        if Path(folder).resolve() == ROOT:
            return
        yield folder


def refuse_conflicts(command: str) -> None:
    """End with a sentence where the user's own files and our packages share a name."""
    folders = [*_before_ours()]
    if command in WITH_FOLDER:
        inherited = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        folders += [os.getcwd(), *inherited]
    results = [*conflicts(folders)]
    for clone in (path.parent for path in results):
        if (clone / Path(__file__).name).is_file():
            sys.exit(
                f"gatepost: {clone} is a clone of Gatepost, and Gatepost is installed elsewhere as "
                "well. Start with `make up` here, or with `gatepost up` in another folder."
            )
    if results:
        sys.exit(
            f"gatepost: {', '.join(map(str, results))}: this name is taken by a package of "
            "Gatepost, and Python can import only one of them. Rename yours, or start in another "
            "folder."
        )


def _up() -> NoReturn:
    """Start everything, before Django reads settings that the flags decide."""
    # A shell that lets Python write no bytecode would make each start compile 2,000 modules anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    from dashboard.operate.embedded import start

    code = start.main(sys.argv[2:])
    # All parts are gone and all files closed; the interpreter's own farewell to hundreds of
    # modules would only keep the person at the terminal waiting.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _note_data_folder(arguments: list[str]) -> None:
    """Let the settings follow --data-dir of any command: they are read before its own parser."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--data-dir")
    try:
        data = parser.parse_known_args(arguments)[0].data_dir
    except argparse.ArgumentError:
        return  # the command's own parser says what is wrong
    if data:
        os.environ["GATEPOST_DATA"] = data


def _run() -> int:
    """Run the command; its exit code. Ctrl-C and a reader that left (`| head`) are no errors."""
    from dashboard.kit.terminal.overview import Commands

    try:
        Commands(sys.argv).execute()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:
        # What is still buffered would complain once more when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return 0


def main() -> None:
    """Run the command that the arguments name; ends the process with its exit code."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command in ("version", "--version"):
        print(__version__)
        return
    refuse_conflicts(command)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    if command in ("migrate", "up", "backup", "restore"):
        # These may take longer than the time-outs of a web request allow, as the owner of tables.
        os.environ.setdefault("GATEPOST_ROLE", "migrate")
    if command == "up":
        _up()
    _note_data_folder(sys.argv[2:])
    if command in ("", "help", "reset") or {"-h", "--help"}.intersection(sys.argv):
        # They sign nothing, and no key may be made in a folder that is none of ours.
        os.environ.setdefault("GATEPOST_SECRET_KEY", "unused")
    try:
        code = _run()
    except KeyboardInterrupt:
        code = STOPPED
    except ImportError as error:
        if error.name and error.name.partition(".")[0] == "django":
            sys.exit("Django is not installed here: run `make up` once.")
        raise
    sys.exit(code)
