#!/usr/bin/env python3
"""Runs Gatepost's commands in a clone: `./manage.py help` lists them."""

import os
import sys

from gatepost_command import main


def _enter_environment() -> None:
    """Go on with the Python that `make up` made, where this one belongs to the system."""
    ours = os.path.join(os.path.dirname(os.path.abspath(__file__)), ".venv", "bin", "python")
    if sys.prefix == sys.base_prefix and os.access(ours, os.X_OK):
        os.execv(ours, [ours, os.path.abspath(__file__), *sys.argv[1:]])  # noqa: S606


if __name__ == "__main__":
    _enter_environment()
    main()
