"""Files by their content hash: downloaded, or looked into on a page; never a page of this site."""

from __future__ import annotations

import asyncio
import mimetypes
import re
from collections.abc import AsyncIterator, Iterator
from typing import IO, Any
from urllib.parse import quote

from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.csp import CSP
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from checkpoints import payloads, queries
from checkpoints.views import ArtifactRow
from dashboard.documents.previews.preview import READ, preview_of
from dashboard.fields.validation import clean_name
from dashboard.html import file_links
from dashboard.kit.pages.base import actor, member

CHUNK = 256 * 1024
PROVED_BEFORE = 8 * 1024 * 1024  # bytes of a file that are read twice, to refuse with a sentence
SHA256 = re.compile(r"[0-9a-f]{64}")
# Types that no browser makes a page of; everything else goes out as plain text to be kept.
SAFE_TYPES = {
    "application/gzip",
    "application/json",
    "application/pdf",
    "application/zip",
    "image/jpeg",
    "image/png",
    "text/csv",
    "text/plain",
    "text/tab-separated-values",
}
NOTHING: dict[str, list[str]] = {"default-src": [CSP.NONE], "sandbox": ["allow-downloads"]}


@require_safe
@csp_override(NOTHING)
@member
def artifact(request: HttpRequest, sha256: str) -> HttpResponse | StreamingHttpResponse:
    """Download a file of the workspace; ?inline=1 lets an <img> of ours show a picture.

    `?as=` is the name by which the page that linked to it calls the bytes.
    """
    row, name = _row(request, sha256)
    if row.size <= PROVED_BEFORE:
        payloads.prove(row)  # a larger one breaks off before its end where it does not fit
    file = payloads.opened(row)
    return download(request, file, name=name, size=row.size, inline="inline" in request.GET)


@require_safe
@member
def preview(request: HttpRequest, sha256: str) -> HttpResponse:
    """A page with the beginning of a file, where its bytes are of a kind that can be shown."""
    row, name = _row(request, sha256)
    if row.size <= PROVED_BEFORE:
        payloads.prove(row)
    with payloads.opened(row) as file:
        head = file.read(READ)
    context = {
        "name": name,
        "size": row.size,
        "sha": sha256,
        "preview": preview_of(head, name=name, size=row.size),
        "download": file_links.file_url(sha256, name),
        "picture": file_links.file_url(sha256, name, inline=True),
    }
    return render(request, "threads/artifact.html", context)


def _row(request: HttpRequest, sha256: str) -> tuple[ArtifactRow, str]:
    """A file of the workspace, and its name on the page that linked to it."""
    if not SHA256.fullmatch(sha256):
        raise Http404
    row = queries.artifact(sha256, workspace=actor(request).workspace)
    return row, file_links.name_in(request.GET.get("as", ""), sha256, row.name)


def download(
    request: HttpRequest, file: IO[bytes] | Any, *, name: str, size: int, inline: bool = False
) -> StreamingHttpResponse:
    """Stream `file` as an attachment with a type that is safe; only pictures may be `inline`."""
    guessed = mimetypes.guess_type(name)[0] or ""
    kind = guessed if guessed in SAFE_TYPES else "text/plain"
    if inline:
        shown = preview_of(file.read(READ), name=name, size=size).picture
        file.seek(0)
        inline, kind = shown is not None, shown.media_type if shown else kind
    chunks = AsyncChunks(file) if isinstance(request, ASGIRequest) else Chunks(file)
    response = StreamingHttpResponse(
        chunks, content_type=f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
    )
    response["Content-Length"] = str(size)
    name = clean_name(name)  # an agent may have given it any
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", name)
    response["Content-Disposition"] = (
        f'{"inline" if inline else "attachment"}; filename="{plain}"; '
        f"filename*=UTF-8''{quote(name, safe='')}"
    )
    response["X-Content-Type-Options"] = "nosniff"
    return response


class _File:
    """A file that is closed with the response, also when nobody read a byte of it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def close(self) -> None:
        self.file.close()


class Chunks(_File):
    """The bytes of a file, for a server that waits."""

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self.file.read(CHUNK):
            yield chunk


class AsyncChunks(_File):
    """The bytes of a file, read in a thread: gigabytes never lie in memory."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while chunk := await asyncio.to_thread(self.file.read, CHUNK):
            yield chunk
