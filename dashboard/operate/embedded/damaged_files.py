"""Damaged files of the embedded hot store: set aside, never deleted, with a record of each case.

A cut tail, as a killed server leaves it, is no damage: Valkey drops the entry that nobody was told
of. Zero bytes at the end, as a power cut leaves them, make Valkey refuse to start; so does any
damage in the middle.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

FILES: Final = "appendonlydir"
PREFIX: Final = "damaged-"
RECORD: Final = "damage.json"
BLOCK: Final = 64 * 1024
LOG_BYTES: Final = 1024 * 1024
# A server that dies of one of these while it reads its files read nonsense.
CRASHES: Final = frozenset(
    -number for number in (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
)
# What Valkey writes when its files are damaged. A full disk, a missing right, a disk that cannot be
# read and files of a newer Valkey are none of these: an empty start would make them worse.
REFUSED: Final = re.compile(
    r"Bad file format reading the append only file"
    r"|Error reading the append only file \S+, error: "
    r"|Unexpected end of file reading the append only file"
    r"|Error reading the RDB preamble of the AOF file"
    r"|Internal error in RDB reading"
    r"|Wrong RDB checksum"
    r"|Wrong signature trying to load DB"
    r"|Short read or OOM loading DB"
    r"|AOF file \S+ length\. stat: No such file"
    r"|FATAL AOF MANIFEST FILE ERROR"
)


@dataclass(frozen=True, slots=True)
class Damage:
    """One case: when, where the damaged files lie now, the reason.

    `zeros` are the bytes that were cut off; without any the store began empty.
    """

    at: datetime
    folder: Path
    reason: str
    zeros: int = 0

    @property
    def sentence(self) -> str:
        """A sentence for the console, the log and doctor."""
        if self.zeros:
            return (
                f"{self.reason}, as after a power cut; they were cut off. "
                f"The file as it was: {self.folder}"
            )
        return (
            f"Its files were damaged ({self.reason}), so it began empty: steps that were not in "
            f"PostgreSQL yet are lost. The files: {self.folder}"
        )


def damages(folder: Path) -> list[Damage]:
    """The cases of a store whose damaged files still lie in its folder, oldest first."""
    results = []
    for record in sorted(folder.glob(f"{PREFIX}*/{RECORD}")):
        fields = json.loads(record.read_text())
        at = datetime.fromisoformat(fields["at"])
        results.append(Damage(at, record.parent, fields["reason"], fields["zeros"]))
    return results


def cut_zeros(folder: Path) -> Damage | None:
    """Cut zero bytes off the end of the file that was appended to last.

    An entry ends with a line break, so that they belong to none that was written whole.
    """
    files = sorted((folder / FILES).glob("*.incr.aof"), key=_number)
    if not files or not (zeros := _zeros_at_the_end(files[-1])):
        return None
    file = files[-1]
    damage = _note(folder, f"{file.name} ended with {zeros:,} zero bytes", zeros)
    shutil.copy2(file, damage.folder)
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size - zeros)
        os.fsync(opened.fileno())
    return damage


def set_aside(folder: Path, reason: str) -> Damage:
    """Move the files of a store aside, so that it begins empty."""
    damage = _note(folder, reason)
    (folder / FILES).rename(damage.folder / FILES)
    return damage


def unnoticed(folder: Path) -> str:
    """Damage that Valkey takes for a fresh start; empty if there is none."""
    files = list((folder / FILES).glob("*.aof")) + list((folder / FILES).glob("*.rdb"))
    present = [file for file in files if not file.name.startswith("temp-")]
    if present and not list((folder / FILES).glob("*.aof.manifest")):
        return "the manifest is missing"
    empty = [file.name for file in present if ".base." in file.name and not file.stat().st_size]
    return f"{empty[0]} is empty" if empty else ""


def refusal(log: Path, code: int | None) -> str:
    """The line in which Valkey refused its files at its last start; empty if it did not.

    `code`: the exit code of its process, None while it works.
    """
    if code is None or not log.exists():
        return ""
    with log.open("rb") as opened:
        opened.seek(max(0, log.stat().st_size - LOG_BYTES))
        text = opened.read().decode(errors="replace").rpartition("Valkey is starting")[2]
    if "Ready to accept connections" in text:
        return ""
    for line in text.splitlines():
        if REFUSED.search(line):
            return re.sub(r"^\d+:\S .*? [*#] ", "", line).partition(": make a backup")[0].strip()
    return "Valkey crashed while it read them" if code in CRASHES else ""


def _note(folder: Path, reason: str, zeros: int = 0) -> Damage:
    """Make the folder of a case, with its record."""
    at = datetime.now(UTC)
    for name in _names(at):
        try:
            (folder / name).mkdir(mode=0o700)
        except FileExistsError:
            continue
        break
    damage = Damage(at, folder / name, reason, zeros)
    fields = {"at": at.isoformat(), "reason": reason, "zeros": zeros}
    (damage.folder / RECORD).write_text(json.dumps(fields) + "\n")
    return damage


def _names(at: datetime) -> Iterator[str]:
    name = f"{PREFIX}{at:%Y%m%dT%H%M%SZ}"
    yield name
    for number in range(2, 1000):
        yield f"{name}-{number:03}"


def _number(file: Path) -> int:
    """`appendonly.aof.12.incr.aof` is number 12."""
    digits = [part for part in file.name.split(".") if part.isdigit()]
    return int(digits[-1]) if digits else 0


def _zeros_at_the_end(file: Path) -> int:
    end = size = file.stat().st_size
    with file.open("rb") as opened:
        while end:
            begin = max(0, end - BLOCK)
            opened.seek(begin)
            left = len(opened.read(end - begin).rstrip(b"\0"))
            if left:
                return size - begin - left
            end = begin
    return size
