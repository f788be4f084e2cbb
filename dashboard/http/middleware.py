"""Headers of all answers, pages of refusals, static files."""

import gzip
import os
import re
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any, Final

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from servestatic.middleware import ServeStaticMiddleware
from servestatic.responders import MissingFileError, StaticFile

from dashboard.errors import ActionError
from dashboard.kit.pages.base import refused

TEXT: Final = re.compile(r"text/|application/(javascript|json)|image/svg")
GZIP: Final = re.compile(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))")
LEAST: Final = 400  # bytes of a file that is worth compressing


class NoStore:
    """Pages and answers show what people may see now: no cache keeps them, unless one says so."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if "Cache-Control" not in response:
            response["Cache-Control"] = "no-store"
        return response


class NoDevices:
    """No page uses microphone, camera or the person's place, unless it says so itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if "Permissions-Policy" not in response:
            response["Permissions-Policy"] = "camera=(), geolocation=(), microphone=()"
        return response


class Refusals:
    """Turns an action's refusal that no view has answered into its page, without a traceback."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The page of an ActionError; None leaves everything else to Django."""
        return refused(request, error) if isinstance(error, ActionError) else None


class Static:
    """Static files; what is none passes by in its thread, which the library's own would leave.

    The library looks at sizes and times once. A file that another release, or its author, wrote
    over since would go out under the length of the former one, and the server would cut it off:
    a page without its style until a restart. So each is looked at again before it is served.

    Text that nobody compressed beforehand is compressed when it is first asked for, and kept.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.known = self.look()
        self._compressed: dict[str, tuple[StaticFile, bytes]] = {}

    def look(self) -> ServeStaticMiddleware:
        """The library's middleware with the files that are there now."""
        return ServeStaticMiddleware(_nobody)

    def __call__(self, request: HttpRequest) -> Any:
        file = self.known.files.get(request.path_info)
        if isinstance(file, StaticFile) and not _as_known(file):
            file = self._anew(file, request.path_info)
        if file is None:
            return self.get_response(request)
        if isinstance(file, StaticFile) and _compressible(file, request):
            return self._small(file, request.path_info)
        return async_to_sync(self.known.aserve)(file, request)

    def _small(self, file: StaticFile, url: str) -> HttpResponse:
        """The file compressed, which is done once as long as it lies there unchanged."""
        _, path, headers = file.alternatives[-1]
        known, data = self._compressed.get(url, (None, b""))
        if known is not file:
            data = gzip.compress(Path(path).read_bytes(), mtime=0)
            self._compressed[url] = file, data
        response = HttpResponse(data, headers=dict(headers))
        response["Content-Length"] = str(len(data))
        response["Content-Encoding"] = "gzip"
        patch_vary_headers(response, ["Accept-Encoding"])
        return response

    def _anew(self, file: StaticFile, url: str) -> StaticFile | None:
        """The file as it lies there now; None where it is gone."""
        path = next(path for encoding, path, _ in file.alternatives if encoding is None)
        try:
            self.known.files[url] = fresh = self.known.get_static_file(path, url)
        except MissingFileError:
            return None
        return fresh


def _compressible(file: StaticFile, request: HttpRequest) -> bool:
    """True for text that is asked for as a whole, by who takes gzip, and has no smaller form."""
    headers = dict(file.alternatives[-1][2])
    return (
        len(file.alternatives) == 1
        and TEXT.match(headers["Content-Type"]) is not None
        and int(headers["Content-Length"]) >= LEAST
        and request.method == "GET"
        and GZIP.search(request.headers.get("Accept-Encoding", "")) is not None
        and "Range" not in request.headers
        and not file.is_not_modified(request.META)
    )


def _as_known(file: StaticFile) -> bool:
    """True if each form of a file has the size and time that its headers state."""
    try:
        for encoding, path, headers in file.alternatives:
            stat, payload = os.stat(path), dict(headers)
            same_time = formatdate(stat.st_mtime, usegmt=True) == payload.get("Last-Modified")
            if str(stat.st_size) != payload["Content-Length"] or not (encoding or same_time):
                return False
    except FileNotFoundError:
        return False
    return True


async def _nobody(request: HttpRequest) -> HttpResponse:
    """Whom the library would ask next, were it asked for what is no file."""
    raise LookupError(request.path_info)
