"""`python -m tests.faults.services.sending`: send what is due, as a process of its own, then end.

Says "begun" on a line of its own first, at its end how many messages it began.
"""

from __future__ import annotations

import os
import time

import django


def main() -> None:
    """Turn until two seconds long nothing was to be done."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.support.settings"
    django.setup()
    from approvals.notify.sender import Sender

    sender, begun, idle = Sender(), 0, time.monotonic()
    print("begun", flush=True)
    while time.monotonic() - idle < 2:
        now = sender.turn()
        begun += now
        if now or sender._travelling:
            idle = time.monotonic()
        time.sleep(0.01)
    print(begun, flush=True)


if __name__ == "__main__":
    main()
