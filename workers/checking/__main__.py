"""`python -m workers.checking MODULE`: what `agent check` starts, with a time limit, and reads."""

import json
import os
import sys


def main() -> None:
    """Examine the module that the command line names; write the findings to stdout as JSON."""
    # What the author prints at import goes to stderr; only the answer goes to stdout.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    import django

    django.setup()
    from .modules import examine

    json.dump(examine(sys.argv[1]), answer)
    answer.close()


if __name__ == "__main__":
    main()
