"""Values from the environment or, for secrets, from the file that NAME_FILE names."""

from __future__ import annotations

import os
from pathlib import Path

LONGEST_SECRET = 64 * 1024


class Misconfigured(SystemExit):
    """One line for the person who starts Gatepost: which variable is wrong, and how it is right.

    It ends the process whatever imports the settings (uvicorn, Celery, a command): a traceback
    would show the address, and with it the password.
    """

    def __init__(self, name: str, problem: str) -> None:
        self.name, self.problem = name, problem
        super().__init__(f"gatepost: {name} {problem}")


def value(name: str, default: str = "") -> str:
    """NAME, or the content of the file NAME_FILE without its last line break.

    Both together are refused, since nobody could say which one counts.
    """
    value, path = os.environ.get(name, ""), os.environ.get(f"{name}_FILE", "")
    if not path:
        return value or default
    if value:
        raise Misconfigured(name, f"and {name}_FILE are both set: keep one of them.")
    try:
        with Path(path).open("rb") as file:
            raw = file.read(LONGEST_SECRET + 1)
        text = raw.decode().rstrip("\r\n")
    except OSError as error:
        raise Misconfigured(f"{name}_FILE", f"cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise Misconfigured(f"{name}_FILE", "holds something that is not UTF-8 text.") from None
    if not text.strip() or len(raw) > LONGEST_SECRET or "\n" in text or "\0" in text:
        raise Misconfigured(f"{name}_FILE", "must hold exactly one line.")
    return text
