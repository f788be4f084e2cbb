"""`python -m gatepost_agents.testbank --ledger FILE (--port N | --socket FILE)`: be the bank."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

from .ledger import Busy, Ledger
from .server import bank


def main() -> int:
    """Serve until asked to stop; 1 when another bank has the ledger."""
    parser = argparse.ArgumentParser(
        prog="python -m gatepost_agents.testbank", description="A bank for trials and tests."
    )
    parser.add_argument("--ledger", type=Path, required=True, help="its file of JSON lines")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (any free one)")
    parser.add_argument("--socket", type=Path, help="unix socket in place of a port")
    parser.add_argument("--opening", default="1000000.00", help="the customer's money at first")
    value = parser.parse_args()
    try:
        ledger = Ledger(value.ledger, value.opening)
    except Busy as error:
        print(error, file=sys.stderr)
        return 1
    serving = bank(ledger, port=value.port, socket=value.socket)

    def stop(*_: Any) -> None:
        raise SystemExit(0)  # whatever was answered is on the disk

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    print(serving.where, flush=True)
    serving.serve_forever(poll_interval=3600)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
