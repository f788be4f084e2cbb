"""The backend that Django loads for each process that may not wait without bound."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import psycopg
from django.db.backends.postgresql import base

from dashboard.configuration.bounded import BoundedConnection


class _Psycopg(ModuleType):
    """The module psycopg, as Django's backend names it, with bounded connections."""

    connect = BoundedConnection.connect

    def __getattr__(self, name: str) -> Any:
        return getattr(psycopg, name)


class DatabaseWrapper(base.DatabaseWrapper):
    """Connections of workers and commands; a pool names its class of connections itself."""

    Database = _Psycopg("psycopg")
