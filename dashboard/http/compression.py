"""Pages, the parts that they fetch, and answers to tokens are compressed on their way.

A body that holds a secret and something that a stranger chose must not be compressed where the
stranger can make a browser ask for it again and again, and see how long the answers are (BREACH).
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from dashboard.kit.pages.base import wants_regions


class CompressedPages(GZipMiddleware):
    """Compresses whole answers of the kinds below; everything else goes out as it is.

    Each has a random number of bytes more, so that its length does not reveal its content; the
    token of a page's forms is another one each time as well.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> Any:
        """The answer, compressed if it may be."""
        weak = f"W/{response.get('ETag', '')}"
        if response.status_code == 304 and weak in request.headers.get("If-None-Match", ""):
            response["ETag"] = weak  # compressed answers have this form of it, so it has it too
            return response
        kind = response.get("Content-Type", "").partition(";")[0]
        if response.streaming or not (kind == "text/html" or _is_safe(request, kind)):
            return response
        return super().process_response(request, response)


def _is_safe(request: HttpRequest, kind: str) -> bool:
    """True for JSON of a GET that no other site can make a browser send: it has a header of ours.

    What an answer shows only once, as a new token, is an answer to a POST.
    """
    own = wants_regions(request) or "Authorization" in request.headers
    return kind == "application/json" and request.method == "GET" and own
