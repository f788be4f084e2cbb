"""Files in a bucket of S3, by the verbs and the errors of a folder.

What is not there is FileNotFoundError; anything else that fails is an OSError whose text people
may read. The client tries again what may pass by itself (a server that is busy, a connection that
breaks), with bounded patience; a stream that breaks off continues where it was. Saving replaces
the file of a name in one move: where the name is a hash, nothing has to be read before.
"""

from __future__ import annotations

import errno
import io
import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import IO, Any, Final

import urllib3.exceptions
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore import exceptions as failures
from botocore.config import Config
from storages.backends.s3 import S3Storage
from storages.utils import clean_name

MEGABYTE: Final = 1024 * 1024
MULTIPART_BYTES: Final = 64 * MEGABYTE
PART_BYTES: Final = 16 * MEGABYTE
BLOCK: Final = 256 * 1024
TRIES: Final = 4
CONNECT_SECONDS, READ_SECONDS = 3, 10
PAUSE_SECONDS: Final = 0.2  # before the second try of a stream; doubles
MEDIA_TYPE: Final = "application/octet-stream"
CONNECTIONS: Final = 32
PAGE_NAMES: Final = 1_000
_GONE: Final = ("NoSuchKey", "404", "NotFound")
_BROKEN: Final = (
    failures.HTTPClientError,
    failures.IncompleteReadError,
    urllib3.exceptions.HTTPError,
    OSError,
)


class ObjectStorage(S3Storage):
    """A bucket, or what lies below a prefix of it."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("client_config", _patience(options.get("addressing_style", "auto")))
        # Threads of our own would be refused where a node works, and gain nothing on one file.
        options.setdefault(
            "transfer_config",
            TransferConfig(
                multipart_threshold=MULTIPART_BYTES,
                multipart_chunksize=PART_BYTES,
                use_threads=False,
            ),
        )
        super().__init__(**options)
        self._lock = threading.Lock()
        self._made: tuple[int, Any] | None = None

    @property
    def client(self) -> Any:
        """The one client of this process; threads share it, a fork makes its own."""
        with self._lock:
            if self._made is None or self._made[0] != os.getpid():
                made = self._create_session().client(
                    "s3",
                    region_name=self.region_name,
                    endpoint_url=self.endpoint_url,
                    config=self.client_config,
                    verify=self.verify,
                )
                self._made = os.getpid(), made
            return self._made[1]

    def at(self, name: str) -> dict[str, str]:
        """The bucket and the key of a name."""
        return {"Bucket": self.bucket_name, "Key": self._normalize_name(clean_name(name))}

    def sizes_in(self, folder: str) -> dict[str, int]:
        """Names and sizes of the files that lie in a folder, not in those below it."""
        return {name: size for name, size in self._listed(folder) if size is not None}

    def names_below(self, folder: str = "") -> Iterator[str]:
        """All names that begin with a folder, in order."""
        with self.errors(folder):
            prefix = self._prefix(folder)
            above = len(self._prefix(""))
            for page in self._pages(Prefix=prefix):
                for entry in page.get("Contents", ()):
                    if not entry["Key"].endswith("/"):
                        yield entry["Key"][above:]

    def exists(self, name: str) -> bool:
        """Answer True if there is a file of that name."""
        try:
            self.size(name)
        except FileNotFoundError:
            return False
        return True

    def size(self, name: str) -> int:
        """Bytes of a file; raises FileNotFoundError."""
        with self.errors(name):
            return int(self.client.head_object(**self.at(name))["ContentLength"])

    def listdir(self, name: str) -> tuple[list[str], list[str]]:
        """(folders, files) of a folder, which is nothing but a beginning of names."""
        folders: list[str] = []
        files: list[str] = []
        for entry, size in self._listed(name):
            (folders if size is None else files).append(entry)
        return folders, files

    def delete(self, name: str) -> None:
        """Delete a file; one that is not there is no error."""
        with suppress(FileNotFoundError), self.errors(name):
            self.client.delete_object(**self.at(name))

    def _open(self, name: str, mode: str = "rb") -> IO[bytes]:
        if mode != "rb":
            raise ValueError(f"A file in a bucket is read as it is; {mode!r} is something else.")
        return io.BufferedReader(_Stream(self, name), BLOCK)

    def _save(self, name: str, content: Any) -> str:
        if content.seekable():
            content.seek(0)
        with self.errors(name):
            at = self.at(name)
            self.client.upload_fileobj(
                _Unclosed(content),
                at["Bucket"],
                at["Key"],
                ExtraArgs=self.get_object_parameters(name) | {"ContentType": MEDIA_TYPE},
                Config=self.transfer_config,
            )
        return str(clean_name(name))

    def _prefix(self, folder: str) -> str:
        path = str(self._normalize_name(clean_name(folder))).rstrip("/")
        return f"{path}/" if path else ""

    def _pages(self, **what: str) -> Iterator[dict[str, Any]]:
        pages = self.client.get_paginator("list_objects_v2")
        size = {"PageSize": PAGE_NAMES}
        yield from pages.paginate(Bucket=self.bucket_name, PaginationConfig=size, **what)

    def _listed(self, folder: str) -> Iterator[tuple[str, int | None]]:
        """(name, size) of what lies in a folder; a folder in it has no size."""
        with self.errors(folder):
            prefix = self._prefix(folder)
            for page in self._pages(Prefix=prefix, Delimiter="/"):
                for entry in page.get("CommonPrefixes", ()):
                    yield entry["Prefix"][len(prefix) :].rstrip("/"), None
                for entry in page.get("Contents", ()):
                    if name := entry["Key"][len(prefix) :]:
                        yield name, int(entry["Size"])

    @contextmanager
    def errors(self, name: str) -> Iterator[None]:
        """Turn failures of the client into FileNotFoundError and OSError."""
        try:
            yield
        except failures.ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code in _GONE and self._has_bucket(code):
                raise FileNotFoundError(errno.ENOENT, "There is no such file", name) from error
            raise OSError(errno.EIO, _answered(code)) from error
        except failures.NoCredentialsError as error:
            raise OSError(errno.EACCES, "No credentials for the bucket are set") from error
        except (failures.ReadTimeoutError, urllib3.exceptions.ReadTimeoutError) as error:
            raise OSError(errno.ETIMEDOUT, "The bucket's server answers too late") from error
        except (failures.BotoCoreError, Boto3Error, urllib3.exceptions.HTTPError) as error:
            raise OSError(errno.EIO, "The bucket's server does not answer") from error

    def _has_bucket(self, code: str) -> bool:
        """Answer True if the bucket is there: a look at a file alone does not tell it apart."""
        if code == "NoSuchKey":
            return True
        try:
            self.client.head_bucket(Bucket=self.bucket_name)
        except failures.ClientError:
            return False
        return True


def _patience(addressing: str) -> Config:
    return Config(
        s3={"addressing_style": addressing},
        signature_version="s3v4",
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"mode": "standard", "total_max_attempts": TRIES},
        max_pool_connections=CONNECTIONS,
        # Each reader of ours compares with the hash, and calls what differs damage.
        response_checksum_validation="when_required",
    )


def _answered(code: str) -> str:
    reasons = {
        "NoSuchBucket": "The bucket is not there",
        "404": "The bucket is not there",
        "NotFound": "The bucket is not there",
        "AccessDenied": "The bucket refuses its credentials",
        "403": "The bucket refuses its credentials",
        "InvalidAccessKeyId": "The bucket refuses its credentials",
        "SignatureDoesNotMatch": "The bucket refuses its credentials",
        "SlowDown": "The bucket's server is busy",
        "ServiceUnavailable": "The bucket's server is busy",
        "503": "The bucket's server is busy",
        "PreconditionFailed": "The file was replaced while it was read",
        "412": "The file was replaced while it was read",
    }
    return reasons.get(code, f"The bucket's server answers {code or 'with an error'}")


class _Unclosed:
    """A file that the client reads and does not close: it is its caller's."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.read, self.seek, self.tell = file.read, file.seek, file.tell

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def close(self) -> None:
        return


class _Stream(io.RawIOBase):
    """The bytes of one file from wherever they are asked for; nothing is fetched before."""

    def __init__(self, storage: ObjectStorage, name: str) -> None:
        self._storage = storage
        self._name = name
        self._at = 0
        self._body: Any = None
        self._body_at = 0
        self._size: int | None = None
        self._etag = ""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at}.get(whence)
        if start is None:
            start = self._size if self._size is not None else self._storage.size(self._name)
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, into: Any) -> int:
        """Read on; a connection that breaks is opened again where it broke, up to TRIES times."""
        for left in reversed(range(TRIES)):
            try:
                with self._storage.errors(self._name):
                    if self._size is not None and self._at >= self._size:
                        return 0
                    if self._body is None or self._body_at != self._at:
                        self._begin()
                    raw: bytes = self._body.read(len(into))
                break
            except FileNotFoundError:
                raise
            except OSError as error:
                self._end()
                if not left or not isinstance(error.__cause__, _BROKEN):
                    raise
                time.sleep(PAUSE_SECONDS * 2 ** (TRIES - 1 - left))
        into[: len(raw)] = raw
        self._at += len(raw)
        self._body_at = self._at
        return len(raw)

    def _begin(self) -> None:
        self._end()
        more = {"IfMatch": self._etag} if self._etag else {}
        if self._at:
            more["Range"] = f"bytes={self._at}-"
        answer = self._storage.client.get_object(**self._storage.at(self._name), **more)
        self._size = self._at + int(answer["ContentLength"])
        self._etag = answer["ETag"]
        self._body, self._body_at = answer["Body"], self._at

    def _end(self) -> None:
        if self._body is not None:
            with closing(self._body):
                self._body = None

    def close(self) -> None:
        self._end()
        super().close()
