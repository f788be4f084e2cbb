#!/usr/bin/env python3
"""Runs Gatepost's commands: `./manage.py help` lists them."""

import argparse
import os
import sys
from typing import NoReturn

STOPPED, PIPE_CLOSED = 130, 141


def _enter_environment() -> None:
    """Go on with the Python that `make up` made, where this one belongs to the system."""
    ours = os.path.join(os.path.dirname(os.path.abspath(__file__)), ".venv", "bin", "python")
    if sys.prefix == sys.base_prefix and os.access(ours, os.X_OK):
        os.execv(ours, [ours, os.path.abspath(__file__), *sys.argv[1:]])  # noqa: S606


def _up() -> NoReturn:
    """Start everything, before Django reads settings that the flags decide."""
    from dashboard.embedded import start

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
    """The command; its exit code. Ctrl-C and a reader that went away (`| head`) are no errors."""
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:
        # What is still buffered would complain once more when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return 0


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    if sys.argv[1:2] in (["migrate"], ["up"]):
        # Migrations may take longer than the time-outs of a web request allow.
        os.environ.setdefault("GATEPOST_ROLE", "migrate")
    if sys.argv[1:2] == ["up"]:
        _up()
    _note_data_folder(sys.argv[2:])
    if sys.argv[1:2] == ["reset"]:
        # It signs nothing, and no key may be made in a folder that is none of ours.
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


if __name__ == "__main__":
    _enter_environment()
    main()
