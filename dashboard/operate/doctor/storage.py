"""Checks of the bucket that files lie in: they can be written, read, listed and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.storage.handler import InvalidStorageError
from uuid_utils.compat import uuid7

from checkpoints.payloads import on_disk
from dashboard.operate.embedded.checks import is_loopback

from .findings import Finding, Seen, ok, warning, wrong

NAME = "file storage"
WHERE = "Look at GATEPOST_STORAGE, its credentials and what they may do with the bucket."


def answers(_seen: Seen) -> Iterator[Finding]:
    """A small file is written to a bucket, read, listed and deleted."""
    if on_disk():
        yield ok(NAME, "a folder")
        return
    folder, raw = f"doctor/{uuid7()}", b"doctor"
    done = "written"
    try:
        name = default_storage.save(f"{folder}/probe", ContentFile(raw))
        done = "read"
        with default_storage.open(name, "rb") as file:
            came = file.read()
        done = "listed"
        listed = default_storage.listdir(folder)[1]
        done = "deleted"
        default_storage.delete(name)
        left = default_storage.exists(name)
    except (OSError, InvalidStorageError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        yield wrong(NAME, f"a file can't be {done}: {why}", WHERE)
        return
    if came != raw or listed != ["probe"] or left:
        yield wrong(NAME, "a file that was written, listed or deleted isn't what it was", WHERE)
    else:
        yield ok(NAME, "a bucket: files can be written, read, listed and deleted")


def wire(_seen: Seen) -> Iterator[Finding]:
    """Files cross a network encrypted."""
    endpoint = urlsplit(getattr(default_storage, "endpoint_url", None) or "")
    if endpoint.scheme == "http" and not is_loopback(endpoint.hostname or ""):
        yield warning(
            NAME,
            "files go to the bucket without TLS",
            "Give an endpoint with https:// in GATEPOST_STORAGE.",
        )
    else:
        yield ok(NAME, "files cross no network unencrypted, as far as Gatepost sends them")
