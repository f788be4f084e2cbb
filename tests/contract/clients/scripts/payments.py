"""python payments.py NAME: an agent that stays at the place that HOLD names, to be killed there."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from gatepost_client import Approve, Rejected, agent, ask, effect, step, think
from gatepost_client.record.work import Work

OUTSIDE = Path(os.environ["OUTSIDE"])  # the world: what happens here has happened
HOLD = os.environ.get("HOLD", "")


def note(file: str, text: str) -> None:
    with (OUTSIDE / file).open("a") as log:
        log.write(text + "\n")


def stay(point: str) -> None:
    """Stay here for ever when this is the place to be killed at."""
    if point == HOLD:
        (OUTSIDE / f"at-{point}").touch()
        time.sleep(120)


_commit = Work.commit


def commit(self: Work, node: str, *args: Any, **kwargs: Any) -> Any:
    stay(f"before the record of {node}")
    return (yield from _commit(self, node, *args, **kwargs))


Work.commit = commit  # type: ignore[method-assign]


@step
def load(name: str) -> dict[str, Any]:
    note("load", name)
    stay("in load")
    return {"amount": 40, "who": ("Müller", name)}


@effect(approve=Approve("Pay {amount} EUR to {to}", risk="medium"), idempotent=True)
def pay(amount: int, to: str, *, key: str = "") -> str:
    note("called", key)
    stay("before paying")
    paid = OUTSIDE / f"paid-{key}"
    if not paid.exists():  # what a bank does with an idempotency key
        paid.write_text(str(amount))
        note("paid", f"{amount} {to}")
    stay("after paying")
    return f"receipt for {amount}"


@agent("payments-killed", thread="{name}")
def main(name: str) -> dict[str, Any]:
    loaded = load(name)
    think(f"{loaded['amount']} is due")
    stay("between")
    to, which = loaded["who"]
    try:
        receipt = pay(loaded["amount"], to)
    except Rejected as error:
        receipt = f"no: {error.comment}"
    colour = ask("Which colour?") if "colour" in name else "none"
    stay("at the end")
    return {"receipt": receipt, "which": which, "colour": colour}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
