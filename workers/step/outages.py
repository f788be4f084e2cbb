"""What a node meets when the record cannot be reached or is no longer its own: it is left.

An author's `except Exception` around an activity or effect is about what the call did. Were it to
catch that the database is away, or that the lease is lost, the node would take another way than
what happened, and might commit it once the database is back. So both leave the node as a Stop.
"""

from __future__ import annotations

from typing import Any, cast

from django.db import DatabaseError, DataError, InterfaceError

from checkpoints.errors import ConcurrentModificationError

from ..authoring.errors import Stop

AWAY = (DatabaseError, InterfaceError, ConcurrentModificationError)


class Unrecorded(Stop):
    """Leaves a node because of `error`, which the engine raises again outside of it."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class _RaisesStop:
    """A proxy of a ledger or heartbeat: a database outage becomes Stop and ends the node."""

    __slots__ = ("_behind",)

    def __init__(self, behind: object) -> None:
        self._behind = behind

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._behind, name)

        def sure(*args: Any, **kwargs: Any) -> Any:
            try:
                return call(*args, **kwargs)
            except DataError:
                raise  # the database is there and refuses this very value: the step fails
            except AWAY as error:
                raise Unrecorded(error) from error

        return sure


def sure[T](behind: T) -> T:
    """The same for use inside of nodes."""
    return cast(T, _RaisesStop(behind))
