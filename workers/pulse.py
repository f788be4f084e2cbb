"""`python -m workers.pulse`: has this machine's worker lately done a canary? For supervisors.

Looks at the age of the file that GATEPOST_PULSE names; needs no database, no HTTP and no Django.
"""

import os
import sys
import time

OLDEST_SECONDS = 20.0


def main() -> str:
    """Nothing when all is well, else one sentence."""
    path = os.environ.get("GATEPOST_PULSE", "")
    if not path:
        return "GATEPOST_PULSE names no file: the worker does not say that it is alive."
    try:
        age = time.time() - os.stat(path).st_mtime
    except OSError as error:
        return f"The worker has given no sign of life yet: {error.strerror}."
    if age > OLDEST_SECONDS:
        return f"The worker's last sign of life came {age:.0f} seconds ago."
    return ""


if __name__ == "__main__":
    sys.exit(main() or 0)
