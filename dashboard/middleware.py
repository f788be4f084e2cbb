"""Headers of all answers."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


class NoStore:
    """Pages and answers show what people may see now: no cache keeps them, unless one says so."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if "Cache-Control" not in response:
            response["Cache-Control"] = "no-store"
        return response
