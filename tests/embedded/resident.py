"""Commands of one installation, one after another in one process, as a line of JSON each.

`python -m tests.embedded.resident` reads the words of a command and answers [exit code, stdout,
stderr]: Django starts once. Commands as processes of their own are tests/dashboard's.
"""

import contextlib
import io
import json
import sys

import manage


def answered(words: list[str]) -> tuple[int, str, str]:
    """What a terminal would show of this command."""
    sys.argv = ["manage.py", *words]
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            manage.main()
        except SystemExit as ended:
            code = ended.code
        from django.db import connections

        connections.close_all()  # as a process that ends
    assert code is None or isinstance(code, int), code
    return code or 0, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), flush=True)
