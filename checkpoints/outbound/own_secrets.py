"""Gatepost's own settings and secrets: no call that the installation makes carries one of them.

The address of a call is named by an admin of a workspace, the secret by its name in the
environment. With a name of ours that would send the key that signs everybody's login.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Final

# Read once by the settings, then removed where code of agents and programs of others run.
OWN_SECRETS: Final = (
    "DATABASE_URL",
    "DATABASE_PASSWORD",
    "GATEPOST_MIGRATE_DATABASE_URL",
    "GATEPOST_MIGRATE_DATABASE_PASSWORD",
    "REDIS_URL",
    "REDIS_PASSWORD",
    "GATEPOST_HOT_URL",
    "GATEPOST_HOT_PASSWORD",
    "EMAIL_URL",
    "GATEPOST_STORAGE_KEY",
    "GATEPOST_STORAGE_SECRET",
    "GATEPOST_SECRET_KEY",
    "GATEPOST_ENCRYPTION_KEYS",
    "GATEPOST_ANCHORS",
    "GATEPOST_ANCHORS_SECRET",
    "GATEPOST_ANCHOR_KEY",
    "GATEPOST_METRICS_TOKEN",
    "GATEPOST_VECTORS_KEY",
    "GATEPOST_OIDC_CLIENT_SECRET",
)
# Of the servers beside us, and of libraries that read the environment by themselves.
_OF_SERVERS: Final = frozenset(
    (
        "POSTGRES_PASSWORD",
        "VALKEY_PASSWORD",
        "REDISCLI_AUTH",
        "PGPASSWORD",
        "PGPASSFILE",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    )
)
# Everything under this prefix is a setting of ours, except the secrets that people name below it.
_OURS, _OF_PEOPLE = ("GATEPOST_", "DJANGO_"), "GATEPOST_SECRET_"
_NOT_OF_PEOPLE: Final = ("KEY", "NAMES", "VALUES")


def is_own(name: str) -> bool:
    """True if a name is one of Gatepost's own, in any case and with any number of `_FILE`."""
    name = name.strip().upper()
    while name.endswith("_FILE"):
        name = name.removesuffix("_FILE")
    if name in OWN_SECRETS or name in _OF_SERVERS:
        return True
    if name.startswith(_OF_PEOPLE):
        return name.removeprefix(_OF_PEOPLE) in ("", *_NOT_OF_PEOPLE)
    return name.startswith(_OURS)


def forget(environment: MutableMapping[str, str] = os.environ) -> None:
    """Remove our own secrets from the environment: the settings have read them by now."""
    for name in OWN_SECRETS:
        environment.pop(name, None)
        environment.pop(f"{name}_FILE", None)
