"""Connections of a pool, which no other thread can use while one holds them."""

from __future__ import annotations

from django.db import connection


def give_back() -> None:
    """Return this thread's connection before it waits for something else than the database.

    It keeps it in a transaction, and without a pool.
    """
    if not connection.in_atomic_block and connection.settings_dict["OPTIONS"].get("pool"):
        connection.close()
