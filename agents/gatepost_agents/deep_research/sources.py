"""Reads one source as text: a file of an installed package, or of what a person uploaded."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path, PurePosixPath

from ..language.encodings import decoded
from .packages import SUFFIXES, is_source

BYTES_MAX = 1 << 20
MEMBERS_MAX = 5_000


class UnreadableSource(ValueError):
    """A source that cannot be read; its text says why."""


class UnreadableUpload(ValueError):
    """A file of a person's own that holds no text to search."""


def text_of(source: Mapping[str, str], upload: Path | None = None) -> tuple[str, str]:
    """(text, sha256) of a source; raises UnreadableSource."""
    raw = _of_package(source) if source["package"] else _of_upload(source["file"], upload)
    try:
        text = decoded(raw)
    except UnicodeDecodeError:
        raise UnreadableSource("it is neither UTF-8 nor UTF-16") from None
    if "\0" in text:
        raise UnreadableSource("it isn't text")
    # Lines as editors count them: a form feed or U+2028 ends none.
    return text.replace("\r\n", "\n").replace("\r", "\n"), hashlib.sha256(raw).hexdigest()


def path_of(source: Mapping[str, str]) -> Path:
    """The path of an installed package's file on this machine; raises UnreadableSource."""
    path = PurePosixPath(source["file"])
    if not is_source(path):
        raise UnreadableSource("it is not a source of a package")
    try:
        distribution = metadata.distribution(source["package"])
    except metadata.PackageNotFoundError:
        raise UnreadableSource("its package is no longer installed") from None
    if distribution.version != source["version"]:
        raise UnreadableSource(f"its package is {distribution.version} by now")
    return Path(str(distribution.locate_file(path)))


def _of_package(source: Mapping[str, str]) -> bytes:
    path = path_of(source)
    try:
        if path.stat().st_size > BYTES_MAX:
            raise UnreadableSource(f"it is larger than {BYTES_MAX >> 10} KB")
        return path.read_bytes()
    except OSError as error:
        raise UnreadableSource(f"it cannot be read: {error.strerror or error}") from None


def _of_upload(name: str, upload: Path | None) -> bytes:
    if upload is None:
        raise UnreadableSource("the upload is gone")
    if not zipfile.is_zipfile(upload):
        return upload.read_bytes()
    try:
        with zipfile.ZipFile(upload) as packed, packed.open(name) as member:
            # A member's stated size is its maker's word; so much is read and no more.
            raw = member.read(BYTES_MAX + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise UnreadableSource(f"it cannot be unpacked: {error}") from None
    if len(raw) > BYTES_MAX:
        raise UnreadableSource(f"it is larger than {BYTES_MAX >> 10} KB")
    return raw


def uploaded(upload: Path, name: str) -> list[dict[str, str]]:
    """The sources in a text or a zip of texts; raises UnreadableUpload."""
    if zipfile.is_zipfile(upload):
        with zipfile.ZipFile(upload) as packed:
            files = [m.filename for m in packed.infolist() if m.filename.endswith(SUFFIXES)]
        if len(files) > MEMBERS_MAX:
            raise UnreadableUpload(f"`{name}` holds more than {MEMBERS_MAX:,} texts; split it.")
    elif upload.stat().st_size > BYTES_MAX:
        raise UnreadableUpload(
            f"`{name}` is larger than {BYTES_MAX >> 10} KB; split it into files in a zip."
        )
    else:
        files = [name]
    if not files:
        endings = ", ".join(SUFFIXES)
        raise UnreadableUpload(f"`{name}` holds no text; a zip needs files ending in {endings}.")
    return [{"package": "", "version": "", "file": file} for file in sorted(files)]
