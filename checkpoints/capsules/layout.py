"""The names in a capsule, and how its file is written and read; knows nothing of rows.

A capsule is a zip file that is not compressed: what is in it can be looked at with any tool, and it
cannot unfold to more than the file itself. MANIFEST lists the sha256 of each member in the form
that `sha256sum --check` reads. Nothing is ever unpacked to a path that the file names.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..errors import GatepostError, InvalidValue
from ..state import deltas
from .zip_stream import ZipStream

# 2 brought the pin and the cursors, which a capsule of 1 lacks, 3 the anatomy, 4 the children,
# 5 the integrity, 6 memories.
FORMAT = 6
READABLE = (1, 2, 3, 4, 5, 6)
MANIFEST, THREAD, STATE, STATE_YAML, ANATOMY, INTEGRITY, MEMORIES, FILES = (
    "MANIFEST",
    "thread.json",
    "state.json",
    "state.yaml",
    "anatomy.json",
    "integrity.jsonl",
    "memories.jsonl",
    "artifacts.jsonl",
)
EVENTS, ACTIVITIES, CURSORS, APPROVALS, DECISIONS = (
    "events.jsonl",
    "activities.jsonl",
    "cursors.jsonl",
    "approvals.jsonl",
    "decisions.jsonl",
)
CONTENTS = "contents/"
CHUNK = 1024 * 1024
TEXT_MAX = 64 * CHUNK  # a state of 8 MiB takes a few times that as text for people
MEMBERS_MAX = 2_000_000
MANIFEST_MAX = 256 * 1024 * 1024
_ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAMES = re.compile(
    rf"MANIFEST|state\.(?:json|yaml)|anatomy\.json|(?:integrity|memories|artifacts)\.jsonl|artifacts/[0-9a-f]{{64}}|agents/{_ID}\.json"
    rf"|(?:(?:bases|children)/{_ID}/)?(?:thread\.json|(?:events|activities|cursors|approvals|decisions)\.jsonl"
    r"|checkpoints/[0-9]{6,10}\.json|contents/[0-9a-f]{64}\.json)"
)
_LINE = re.compile(r"([0-9a-f]{64})  (\S+)")


class BadCapsule(GatepostError):
    """The capsule is damaged or not one; nothing was imported."""


def check_name(name: str) -> None:
    """Refuse a name that no member has; raises BadCapsule."""
    if not _NAMES.fullmatch(name):
        raise BadCapsule(f"The capsule has a member that does not belong there: {name!r}.")


def sha_of(raw: bytes) -> str:
    """The hash of these bytes as MANIFEST lists it: hex sha256."""
    return hashlib.sha256(raw).hexdigest()


def checkpoint_name(number: int) -> str:
    """The name of a checkpoint's file in the folder of its thread."""
    return f"checkpoints/{number:06}.json"


def content_name(sha: str) -> str:
    """The name of a large value's file in the folder of its thread."""
    return f"{CONTENTS}{sha}.json"


def base_folder(thread: object) -> str:
    """The folder of a thread that another was forked from."""
    return f"bases/{thread}/"


def child_folder(thread: object) -> str:
    """The folder of a thread of the tree below."""
    return f"children/{thread}/"


def agent_name(version: object) -> str:
    """The name of an agent version's file."""
    return f"agents/{version}.json"


def artifact_name(sha: str) -> str:
    """The name of an artifact's file."""
    return f"artifacts/{sha}"


# --- writing ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    sha: str
    offset: int
    size: int


class Writer:
    """Collects members in a temporary file, then gives the capsule's bytes; memory stays flat."""

    def __init__(self) -> None:
        self._spool: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        # An answer that nobody reads to its end is not closed by its reader.
        weakref.finalize(self, self._spool.close)
        self._members: list[_Member] = []
        self._files: dict[str, Any] = {}

    def close(self) -> None:
        """Forget it all."""
        self._spool.close()

    def add(self, name: str, parts: Iterable[bytes]) -> None:
        """A member of these bytes."""
        offset, digest = self._spool.tell(), hashlib.sha256()
        for part in parts:
            digest.update(part)
            self._spool.write(part)
        size = self._spool.tell() - offset
        self._members.append(_Member(name, digest.hexdigest(), offset, size))

    def add_json(self, name: str, value: Any) -> None:
        """A member that is one line of canonical JSON."""
        self.add(name, [deltas.canonical(value), b"\n"])

    def add_lines(self, name: str, values: Iterable[Any]) -> None:
        """A member with one line of canonical JSON per value."""
        self.add(name, (deltas.canonical(value) + b"\n" for value in values))

    def add_file(self, sha: str, opened: Any) -> None:
        """A file by its hash; `opened` opens it when its turn comes."""
        self._files[sha] = opened

    @property
    def manifest(self) -> bytes:
        """sha256 and name of each member."""
        lines = [(m.sha, m.name) for m in self._members]
        lines += [(sha, artifact_name(sha)) for sha in sorted(self._files)]
        return "".join(f"{sha}  {name}\n" for sha, name in lines).encode()

    def members(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Name and bytes of each member but MANIFEST and the files, one after the other."""
        for member in self._members:
            yield member.name, self._bytes_of(member)

    def _bytes_of(self, member: _Member) -> Iterator[bytes]:
        self._spool.seek(member.offset)
        left = member.size
        while left:
            chunk = self._spool.read(min(CHUNK, left))
            left -= len(chunk)
            yield chunk

    @property
    def files(self) -> dict[str, Any]:
        """The callables that open each file, by its hash."""
        return self._files

    def chunks(self) -> Iterator[bytes]:
        """The capsule: MANIFEST, the members in their order, then the files.

        Raises BadCapsule where the bytes of a file are no longer those of its hash.
        """
        packed = ZipStream()
        with self._spool:
            yield from packed.member(MANIFEST, [self.manifest])
            for member in self._members:
                yield from packed.member(member.name, self._bytes_of(member))
            for sha in sorted(self._files):
                yield from packed.member(artifact_name(sha), self._bytes_of_file(sha))
        yield packed.end()

    def _bytes_of_file(self, sha: str) -> Iterator[bytes]:
        digest = hashlib.sha256()
        with self._files[sha]() as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                yield chunk
        if digest.hexdigest() != sha:
            raise BadCapsule(f"The bytes of the file {sha} were altered; see `verify`.")


# --- reading ------------------------------------------------------------------------------------


class Reader:
    """A capsule whose members are all there and have the bytes that MANIFEST names.

    `sizes` are the bytes of each member, `open_member` opens one by its name. `look_at` is called
    with each JSON value that is read and the place where it stands, before it is handed on.
    """

    def __init__(self, sizes: Mapping[str, int], open_member: Callable[[str], IO[bytes]]) -> None:
        self._sizes = sizes
        self._open_member = open_member
        self.manifest_sha = ""
        self.look_at: Callable[[Any, str], None] = lambda value, where: None

    @property
    def names(self) -> list[str]:
        """All members but MANIFEST, in their order."""
        return [name for name in self._sizes if name != MANIFEST]

    def has(self, name: str) -> bool:
        """Answer True if the capsule has a member of this name."""
        return name in self._sizes

    def size(self, name: str) -> int:
        """Bytes of a member."""
        return self._sizes[name]

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of a member."""
        with self._open(name) as file, _damage(name):
            while chunk := file.read(CHUNK):
                yield chunk

    def json(self, name: str) -> Any:
        """A member that is one JSON value; raises BadCapsule."""
        if self.size(name) > TEXT_MAX:
            raise BadCapsule(f"{name} in the capsule is too large.")
        value = _decoded(b"".join(self.chunks(name)), name)
        self.look_at(value, name)
        return value

    def lines(self, name: str) -> Iterator[Any]:
        """A member with one JSON value per line; raises BadCapsule."""
        number = 0
        with self._open(name) as file:
            while True:
                with _damage(name):
                    line = file.readline(TEXT_MAX)
                if not line:
                    return
                number += 1
                if not line.endswith(b"\n"):
                    raise BadCapsule(f"{name} in the capsule is cut off at line {number}.")
                value = _decoded(line, where := f"{name} line {number}")
                self.look_at(value, where)
                yield value

    def check(self) -> None:
        """Read everything once and compare it with MANIFEST; raises BadCapsule."""
        if len(self._sizes) > MEMBERS_MAX:
            raise BadCapsule("The capsule has too many members.")
        for name in self._sizes:
            check_name(name)
        if MANIFEST not in self._sizes:
            raise BadCapsule("The capsule has no MANIFEST.")
        named = self._manifest()
        if strange := sorted(named.keys() ^ set(self.names)):
            message = "is missing" if strange[0] in named else "is not named in MANIFEST"
            raise BadCapsule(f"{strange[0]} {message} in the capsule.")
        for name, sha in named.items():
            digest = hashlib.sha256()
            for chunk in self.chunks(name):
                digest.update(chunk)
            if digest.hexdigest() != sha:
                raise BadCapsule(f"{name} in the capsule was altered: its hash is another.")
            if name.startswith("artifacts/") and name != artifact_name(sha):
                raise BadCapsule(f"{name} in the capsule is named after other bytes.")
            if CONTENTS in name and not name.endswith(content_name(sha)):
                raise BadCapsule(f"{name} in the capsule is named after other bytes.")

    def _manifest(self) -> dict[str, str]:
        if self.size(MANIFEST) > MANIFEST_MAX:
            raise BadCapsule("The capsule's MANIFEST is too large.")
        raw = b"".join(self.chunks(MANIFEST))
        self.manifest_sha = hashlib.sha256(raw).hexdigest()
        return manifest_of(raw)

    def _open(self, name: str) -> IO[bytes]:
        if name not in self._sizes:
            raise BadCapsule(f"{name} is missing in the capsule.")
        with _damage(name):
            return self._open_member(name)


def manifest_of(raw: bytes) -> dict[str, str]:
    """{name: sha256} as a MANIFEST says; raises BadCapsule."""
    results: dict[str, str] = {}
    for line in raw.decode("ascii", "replace").splitlines():
        parts = _LINE.fullmatch(line)
        if parts is None or parts[2] in results:
            raise BadCapsule("The capsule's MANIFEST cannot be read.")
        results[parts[2]] = parts[1]
    return results


def open_regular(path: Path) -> IO[bytes]:
    """Open a file of a disk; raises BadCapsule for a pipe, a device or a folder, OSError.

    A pipe would be waited for, and a device read, for ever.
    """
    # Without waiting for somebody to write; what was opened is looked at, not its name.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise BadCapsule(f"{path} is not a regular file.")
    return os.fdopen(handle, "rb")


@contextmanager
def opened(path: Path) -> Iterator[Reader]:
    """A capsule to read, checked against its MANIFEST; raises BadCapsule."""
    try:
        file = open_regular(path)
    except OSError as error:
        raise BadCapsule(f"{path}: {error.strerror}.") from error
    with file:
        yield from _opened(path, file)


def _opened(path: Path, file: IO[bytes]) -> Iterator[Reader]:
    try:
        size = os.fstat(file.fileno()).st_size
        packed = zipfile.ZipFile(file)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise BadCapsule(f"{path} is not a capsule, or its end is cut off.") from error
    with packed:
        # Members that share bytes would make a small file large.
        if sum(info.file_size for info in packed.infolist()) > size:
            raise BadCapsule("The capsule claims to hold more than its file does.")
        reader = Reader(*_packed(packed))
        reader.check()
        yield reader


def _packed(packed: zipfile.ZipFile) -> tuple[dict[str, int], Callable[[str], IO[bytes]]]:
    infos = {info.filename: info for info in packed.infolist()}
    if len(infos) != len(packed.infolist()):
        raise BadCapsule("A name occurs twice in the capsule.")
    for name, info in infos.items():
        plain = info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1
        if not plain or info.compress_size != info.file_size:
            raise BadCapsule(f"{name!r} in the capsule is compressed or encrypted.")
    return {n: i.file_size for n, i in infos.items()}, lambda name: packed.open(infos[name])


@contextmanager
def _damage(name: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, EOFError, ValueError, OSError, NotImplementedError) as error:
        raise BadCapsule(f"{name} in the capsule cannot be read.") from error


def _decoded(raw: bytes, path: str) -> Any:
    try:
        value = deltas.decode_file(raw)
        deltas.canonical(value)  # also refuses what is too deep or cannot be stored
    except InvalidValue as error:
        raise BadCapsule(f"{path} in the capsule: {error.path} {error.reason}.") from error
    except RecursionError:
        raise BadCapsule(f"{path} in the capsule is nested too deeply.") from None
    return value
