"""A supervisor over sleeping children: `python -m tests.faults.embedded.supervised MARK`."""

import signal
import subprocess
import sys
from pathlib import Path

from dashboard.operate.embedded.process import processes
from dashboard.operate.embedded.process.supervisor import Supervisor

OBEDIENT = "import time\nwhile True: time.sleep(1)"
STUBBORN = "import signal, time\nsignal.signal(15, signal.SIG_IGN)\n" + OBEDIENT
# Like a prefork worker: a parent with a child of its own that cares for nothing.
PARENT = (
    "import subprocess, sys, time\n"
    f"subprocess.Popen([sys.executable, '-c', {STUBBORN!r}, *sys.argv[1:]])\n" + OBEDIENT
)


class Sleeper:
    def __init__(self, name: str, code: str, mark: str) -> None:
        self.name, self.code, self.mark = name, code, mark
        self.log = Path("/dev/null")

    def start(self) -> subprocess.Popen[bytes]:
        return processes.start([sys.executable, "-c", self.code, self.mark])


def main() -> None:
    mark = sys.argv[1]
    supervisor = Supervisor(report=lambda text: print(text, flush=True))
    for name, code in (("obedient", OBEDIENT), ("stubborn", STUBBORN), ("parent", PARENT)):
        supervisor.start(Sleeper(name, code, mark), stop_signal=signal.SIGTERM, patience=1.0)
    print("started", flush=True)
    supervisor.keep()
    supervisor.stop()
    print("stopped", flush=True)


if __name__ == "__main__":
    main()
