"""Pages are compressed on their way to browsers that take it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressedPages(GZipMiddleware):
    """Compresses whole HTML answers; everything else goes out as it is.

    Each has a random number of bytes more, so that its length does not reveal its content (BREACH);
    the token of its forms is another one each time as well. Answers of the API stay as they are:
    some hold a secret that they show once, and programs ask for few bytes.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> Any:
        """The answer, compressed if it is a page."""
        is_page = response.get("Content-Type", "").startswith("text/html")
        if response.streaming or not is_page:
            return response
        return super().process_response(request, response)
