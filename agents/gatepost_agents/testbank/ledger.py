"""The bank's memory: a file of JSON lines, one per call, on the disk before the call is answered.

A line: {"n", "at", "op", "key", "body_sha256", "status", "outcome"}, and of a call that was carried
out also {"body", "answer"}; of a refused one {"detail"}. `outcome` is one of

    opened    the first line: the account with its {"opening"} balance
    done      carried out, for the first time under this key
    replayed  the key was known: the stored answer again, nothing carried out
    mismatch  the key was known with another body: 422, nothing carried out
    refused   the bank said no: nothing carried out, nothing kept under the key
    429 503 timeout   a switched-on fault: nothing carried out
    done, with "lost": true   carried out, but the answer was held back

The state is what the lines marked done make of the opening balance.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .account import Account, Refused, cents

OPERATIONS = ("reserve", "pay", "refund", "release")


class Busy(Exception):
    """Another bank works on this ledger."""


@dataclass(frozen=True)
class Answer:
    """The response to a caller."""

    status: int
    body: dict[str, Any]
    replayed: bool = False


class Ledger:
    """One writer per file; safe for many threads of this process."""

    def __init__(self, path: Path, opening: str) -> None:
        self.path = path
        self._account = Account(cents(opening))
        self._known: dict[str, tuple[str, str, Answer]] = {}
        self._lines = 0
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._handle)
            raise Busy(f"Another bank works on {path}.") from error
        self._read()
        if not self._lines:
            self._note("open", "", "", 200, "opened", opening=opening)

    def _read(self) -> None:
        """Do again what was done; a last line without an end was never answered and is cut off.

        The balance that a ledger was opened with stays, whatever is asked for later.
        """
        whole = 0
        with self.path.open("rb") as file:
            for raw in file:
                if not raw.endswith(b"\n"):
                    os.ftruncate(self._handle, whole)
                    break
                whole += len(raw)
                line = json.loads(raw)
                self._lines += 1
                if line["outcome"] == "opened":
                    self._account = Account(cents(line["opening"]))
                if line["outcome"] == "done":
                    answer = self._account.do(line["op"], line["body"], line["key"], line["at"])
                    self._known[line["key"]] = (
                        line["op"],
                        line["body_sha256"],
                        Answer(200, answer),
                    )

    def call(self, op: str, body: dict[str, Any], key: str, *, lost: bool = False) -> Answer:
        """Carry out a call once per key and note it; `lost`: the caller will not hear of it."""
        digest = _digest(op, body)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                former_op, former, answer = known
                if (former_op, former) != (op, digest):
                    detail = "This Idempotency-Key was used for another request."
                    self._note(op, key, digest, 422, "mismatch")
                    return Answer(422, {"detail": detail})
                self._note(op, key, digest, answer.status, "replayed")
                return Answer(answer.status, answer.body, replayed=True)
            at = _now()
            try:
                done = self._account.do(op, body, key, at)
            except Refused as no:
                self._note(op, key, digest, no.status, "refused", at=at, detail=no.detail)
                return Answer(no.status, {"detail": no.detail})
            more = {"lost": True} if lost else {}
            self._note(op, key, digest, 200, "done", at=at, body=body, answer=done, **more)
            answer = Answer(200, done)
            self._known[key] = (op, digest, answer)
            return answer

    def note_fault(self, op: str, body: dict[str, Any], key: str, status: int, kind: str) -> None:
        """Note a call that a switched-on fault kept from being carried out."""
        with self._lock:
            self._note(op, key, _digest(op, body), status, kind)

    def _note(
        self, op: str, key: str, digest: str, status: int, outcome: str, at: str = "", **more: Any
    ) -> None:
        line = {
            "n": self._lines + 1,
            "at": at or _now(),
            "op": op,
            "key": key,
            "body_sha256": digest,
            "status": status,
            "outcome": outcome,
            **more,
        }
        raw = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            if os.write(self._handle, raw) != len(raw):
                raise OSError("the disk is full")
            os.fsync(self._handle)
        except OSError as error:
            # What was just changed in memory is not on the disk: only a new start knows the truth.
            print(f"{self.path} cannot be written: {error}", file=sys.stderr, flush=True)
            os._exit(1)
        self._lines += 1

    def balance(self) -> dict[str, Any]:
        """Available, reserved, paid; and how many calls there were."""
        with self._lock:
            return {**self._account.balance(), "calls": self._lines}

    def payments(self, suppliers: frozenset[str]) -> list[dict[str, Any]]:
        """Every payment that stands now."""
        with self._lock:
            return self._account.payments(suppliers)

    def lines(self) -> bytes:
        """The file as it is."""
        with self._lock:
            return self.path.read_bytes()

    def close(self) -> None:
        """Let another bank have the file."""
        os.close(self._handle)


def _digest(op: str, body: dict[str, Any]) -> str:
    text = json.dumps([op, body], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
