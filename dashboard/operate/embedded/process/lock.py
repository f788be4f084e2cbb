"""One `up` per data folder: a lock that ends with the processes that hold it."""

import fcntl
import os
import time
from pathlib import Path
from typing import Self

from .folders import EmbeddedError


class DataLock:
    """Holds `<data>/gatepost.lock`; the watchdog shares it until all parts have ended."""

    def __init__(self, data: Path) -> None:
        self.path = data / "gatepost.lock"
        self.handle = -1

    def take(self, *, patience: float = 2.0) -> Self:
        """Take the lock; waits a moment for a killed predecessor's watchdog to finish.

        Raises EmbeddedError, naming the process that holds it.
        """
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                holder = os.pread(handle, 32, 0).decode().strip()
                if self._alive(holder) or time.monotonic() > deadline:
                    os.close(handle)
                    raise EmbeddedError(
                        f"Gatepost already uses {self.path.parent} (process {holder}): use "
                        f"that one, stop it with `kill {holder}`, or choose another --data-dir."
                    ) from None
                time.sleep(0.05)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        self.handle = handle
        return self

    def release(self) -> None:
        """Give it back."""
        if self.handle >= 0:
            os.ftruncate(self.handle, 0)
            os.close(self.handle)
            self.handle = -1

    @staticmethod
    def _alive(holder: str) -> bool:
        try:
            os.kill(int(holder), 0)
        except (ValueError, ProcessLookupError):
            return False
        except PermissionError:
            return True
        return True
