"""`python -m tests.faults.services.sending SECONDS`: send what is due in a process, then end.

Says "begun" on a line of its own first, at its end how many messages it began; for the first of
them it waits so many seconds longer.
"""

from __future__ import annotations

import os
import sys
import time

import django


def main() -> None:
    """Turn until two seconds long nothing was to be done; the first news may come later."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.support.settings"
    django.setup()
    from approvals.notify.sender import Sender

    sender, begun, idle = Sender(), 0, time.monotonic() + int(sys.argv[1])
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
