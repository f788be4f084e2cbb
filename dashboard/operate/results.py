"""Django's cache framework over Valkey for results across threads: signed text, bounded, no truth.

Valkey also carries the doorbells and refuses writes when it is full, so nothing is kept here while
it uses more memory than GATEPOST_CACHE_MEGABYTES. What comes back is only believed with the
signature that it was kept with: a writer to Valkey cannot put words into an agent's mouth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.signing import BadSignature, Signer

from dashboard.wire.hints import attempt

PREFIX = "result:"
AT_ONCE = 500


class Results(BaseCache):
    """Texts by key for a time; while Valkey is away it is empty and forgets."""

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        """The text kept under a key; `default` where there is none that this installation kept."""
        name = self._name(key, version)
        raw: Any = attempt(lambda valkey: valkey.get(name))
        if raw is None:
            return default
        try:
            return self._signer(name).unsign(raw.decode())
        except (BadSignature, UnicodeDecodeError):
            return default

    def set(
        self,
        key: Any,
        value: Any,
        timeout: Any = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> None:
        """Keep a text for these seconds, if Valkey has room for it."""
        name, seconds = self._name(key, version), self.default_timeout
        if timeout is not DEFAULT_TIMEOUT:
            seconds = timeout
        saved = self._signer(name).sign(value)
        bytes_allowed = settings.GATEPOST_CACHE_MEGABYTES * 1024 * 1024

        def keep(valkey: Any) -> None:
            used: Mapping[str, Any] = valkey.info("memory")
            if used["used_memory"] < bytes_allowed:
                # Without an end nothing is ever kept.
                valkey.set(name, saved, px=max(1, round((seconds or 0) * 1000)))

        attempt(keep)

    def delete(self, key: Any, version: int | None = None) -> bool:
        """Forget one; whether it was there."""
        return bool(attempt(lambda valkey: valkey.delete(self._name(key, version))))

    def clear(self) -> None:
        """Forget all of them, and nothing else that lies in Valkey."""

        def forget(valkey: Any) -> None:
            result = valkey.scan_iter(f"{PREFIX}*", count=AT_ONCE)
            while names := [name for _, name in zip(range(AT_ONCE), result, strict=False)]:
                valkey.unlink(*names)

        attempt(forget)

    def _name(self, key: Any, version: int | None) -> str:
        return PREFIX + self.make_and_validate_key(key, version=version)

    def _signer(self, name: str) -> Signer:
        # Of this very key: an answer to one question is none to another.
        return Signer(salt=name)
