"""How a model's server fails; what passes is asked again (workers.step.retries)."""

from __future__ import annotations

from collections.abc import Mapping

from checkpoints.errors import GatepostError


class ModelFailed(GatepostError):
    """A model's server refused or failed; `status_code` and `headers` are its answer's."""

    def __init__(self, message: str, status_code: int, headers: Mapping[str, str]) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.headers = headers


class BadAnswer(GatepostError):
    """A model's server answered something else than its protocol says."""


# Errors that come amid an answer, when its status was said already.
STATUS_OF = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "api_error": 500,
    "server_error": 500,
}


def failure_of(error: object) -> ModelFailed:
    """The failure that a server sends amid its answer."""
    about = error if isinstance(error, Mapping) else {"message": str(error)}
    code = about.get("code")
    known = code if isinstance(code, int) and 400 <= code < 600 else None
    status = known or STATUS_OF.get(str(about.get("type")), 500)
    words = " ".join(str(about.get("message") or about.get("type") or "no reason").split())[:300]
    return ModelFailed(f"The model's server failed amid its answer: {words}", status, {})
