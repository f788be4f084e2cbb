#!/usr/bin/env python
"""Runs Gatepost's commands: `./manage.py help` lists them."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    if sys.argv[1:2] == ["up"]:
        from dashboard.embedded.arguments import into_environment

        into_environment(sys.argv[2:])
    if sys.argv[1:2] in (["migrate"], ["up"]):
        # Migrations may take longer than the time-outs of a web request allow.
        os.environ.setdefault("GATEPOST_ROLE", "migrate")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("Django is not installed here: run `make up` once, then use .venv/bin/python.")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
