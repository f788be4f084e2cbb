"""Where vectors of memories are searched: GATEPOST_VECTORS, checked."""

from __future__ import annotations

from urllib.parse import urlsplit

from checkpoints.outbound.addresses import problem_of_setting
from checkpoints.server_packages import is_installed
from checkpoints.vectors.stores import CLIENTS, KEY, SETTING, install

from .sources import Misconfigured, value

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def configured(embeddings: str) -> tuple[str, str]:
    """(the store, "" for this process; its key); raises Misconfigured, which shows no key."""
    key = value(KEY)
    return store(value(SETTING).strip(), embeddings=embeddings, key=key), key


def store(text: str, *, embeddings: str, key: str = "") -> str:
    """A store as the setting names it; raises Misconfigured."""
    if embeddings and not is_installed("numpy"):
        raise Misconfigured("GATEPOST_EMBEDDINGS", f"needs {install()}")
    if not text:
        return ""
    kind, _, url = text.partition(":")
    if f"{kind}:" not in CLIENTS:
        raise Misconfigured(
            SETTING, "is empty, qdrant:https://HOST:6333 or milvus:https://HOST:19530."
        )
    if problem := problem_of_setting(url):
        raise Misconfigured(SETTING, f"names an address that {problem}.")
    parts = urlsplit(url)
    if key and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise Misconfigured(KEY, "is sent over https:// only.")
    package, extra = CLIENTS[f"{kind}:"]
    if not is_installed(package):
        raise Misconfigured(SETTING, f"needs {install(extra)}")
    return text
