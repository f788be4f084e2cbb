#!/usr/bin/env python
"""Runs Gatepost's commands: `./manage.py help` lists them."""

import os
import sys
from typing import NoReturn


def _up() -> NoReturn:
    """Start everything, before Django reads settings that the flags decide."""
    from dashboard.embedded import start

    code = start.main(sys.argv[2:])
    # All parts are gone and all files closed; the interpreter's own farewell to hundreds of
    # modules would only keep the person at the terminal waiting.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    if sys.argv[1:2] in (["migrate"], ["up"]):
        # Migrations may take longer than the time-outs of a web request allow.
        os.environ.setdefault("GATEPOST_ROLE", "migrate")
    if sys.argv[1:2] == ["up"]:
        _up()
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("Django is not installed here: run `make up` once, then use .venv/bin/python.")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
