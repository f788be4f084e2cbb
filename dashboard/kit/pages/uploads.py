"""Uploads: files that a person gives as a value of state."""

from __future__ import annotations

import mimetypes
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from checkpoints import store
from checkpoints.limits import NAME_MAX
from dashboard.errors import TooLarge, translated
from dashboard.fields.validation import (
    check_text,
    clean_name,
)
from dashboard.identity.permissions import (
    Actor,
    require,
)


@translated()
def upload(actor: Actor, file: UploadedFile[Any]) -> dict[str, Any]:
    """Keep a file; the reference that state holds: {"$artifact", "name", "media_type", "size"}."""
    require(actor, "upload")
    check_upload_size(file.size or 0)
    name = clean_name(file.name or "")
    check_text("$.name", name, NAME_MAX)
    # The name decides, as everywhere in the product: what a browser claims is not checked either.
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return store.put_artifact(
        actor.workspace, name=name, media_type=media_type, chunks=file.chunks()
    )


def check_upload_size(size: int) -> None:
    """Refuse a file of more bytes than the setting GATEPOST_UPLOAD_MAX_BYTES."""
    limit = int(settings.GATEPOST_UPLOAD_MAX_BYTES)
    if size > limit:
        raise TooLarge("$.file", f"has {size:,} bytes, at most {limit:,} are taken")
