"""The place of files, from GATEPOST_STORAGE: a folder, or a bucket of a server that speaks S3.

s3://bucket                                          Amazon S3, credentials as its clients find them
s3://bucket/prefix?endpoint=https://host:9000        a server of your own
s3://bucket?region=eu-central-1&addressing=virtual   region; addressing is path, virtual or auto
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from .sources import Misconfigured

NAME: Final = "GATEPOST_STORAGE"
EXAMPLE: Final = "s3://bucket/prefix?endpoint=https://host:9000"
FOLDER: Final = "django.core.files.storage.FileSystemStorage"
BUCKET: Final = "checkpoints.payloads.s3.ObjectStorage"
OPTIONS: Final = ("endpoint", "region", "addressing")
ADDRESSING: Final = ("path", "virtual", "auto")
_BUCKET_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def files(url: str, *, key: str = "", secret: str = "", folder: str = "") -> dict[str, Any]:
    """The entry of Django's STORAGES for files; raises Misconfigured, which never repeats it.

    `key` and `secret` are GATEPOST_STORAGE_KEY and GATEPOST_STORAGE_SECRET, `folder` is
    GATEPOST_FILES.
    """
    if not url.strip():
        return {"BACKEND": FOLDER}
    if folder:
        raise Misconfigured("GATEPOST_FILES", f"and {NAME} are both set: keep one of them.")
    if bool(key) != bool(secret):
        raise Misconfigured(
            "GATEPOST_STORAGE_KEY", "and GATEPOST_STORAGE_SECRET go together: one is missing."
        )
    options = bucket(url)
    if not (find_spec("storages") and find_spec("boto3")):
        raise Misconfigured(NAME, "needs the extra s3: pip install '.[s3]'.")
    if key:
        options |= {"access_key": key, "secret_key": secret}
    return {"BACKEND": BUCKET, "OPTIONS": options}


def bucket(url: str, *, name: str = NAME) -> dict[str, Any]:
    """Options of the storage that an address names; raises Misconfigured."""
    wrong = Misconfigured(name, f"cannot be read: write {EXAMPLE}.")
    try:
        split = urlsplit(url.strip())
        query = dict(parse_qsl(split.query, strict_parsing=True)) if split.query else {}
    except ValueError:
        raise wrong from None
    if split.scheme != "s3" or split.fragment:
        raise wrong
    if "@" in split.netloc:
        raise Misconfigured(
            name, "holds credentials: put them into GATEPOST_STORAGE_KEY and _STORAGE_SECRET."
        )
    if not _BUCKET_NAME.fullmatch(split.netloc):
        raise Misconfigured(name, f"names no bucket: write {EXAMPLE}.")
    if unknown := sorted(set(query) - set(OPTIONS)):
        raise Misconfigured(name, f"has the unknown option {unknown[0][:40]!r}.")
    prefix = unquote(split.path).strip("/")
    if any(part in ("", ".", "..") for part in prefix.split("/") if prefix):
        raise wrong
    endpoint = query.get("endpoint", "").rstrip("/")
    if endpoint and not _is_address(endpoint):
        raise Misconfigured(name, "has an endpoint that is no address: write https://host:9000.")
    addressing = query.get("addressing", "path" if endpoint else "auto")
    if addressing not in ADDRESSING:
        raise Misconfigured(name, f"has an addressing that is none of {', '.join(ADDRESSING)}.")
    return {
        "bucket_name": split.netloc,
        "location": prefix,
        "endpoint_url": endpoint or None,
        "region_name": query.get("region") or ("us-east-1" if endpoint else None),
        "addressing_style": addressing,
    }


def _is_address(text: str) -> bool:
    try:
        split = urlsplit(text)
        return bool(
            split.scheme in ("http", "https")
            and split.hostname
            and split.port != 0  # raises where it is no number
            and not (split.username or split.query or split.fragment)
        )
    except ValueError:
        return False
