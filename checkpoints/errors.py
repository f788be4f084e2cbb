"""The exception tree of the ground floor; a class's docstring is the text that people get."""

from __future__ import annotations

from typing import Any


class GatepostError(Exception):
    """Something Gatepost refuses to do."""

    def __init__(self, message: str = "", **facts: Any) -> None:
        super().__init__(message or (self.__doc__ or "").strip().splitlines()[0])
        self.facts = facts

    @property
    def message(self) -> str:
        """The sentence for people."""
        return str(self.args[0])


class NotFound(GatepostError):
    """There is no such thing in this workspace."""


class NotAllowedNow(GatepostError):
    """The thread's status does not allow this now; look at it again."""


class AlreadySettled(NotAllowedNow):
    """Somebody else has answered this already."""


class InvalidValue(GatepostError):
    """A value was refused; `path` names the place as a JSON path."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}", path=path)
        self.path = path
        self.reason = message


class ConcurrentModificationError(GatepostError):
    """Somebody else changed this thread meanwhile; reload and retry."""


class LeaseLost(ConcurrentModificationError):
    """The lease on this thread is no longer ours; stop, write nothing, do not retry."""


class StaleVersion(ConcurrentModificationError):
    """This thread has changed since you looked at it; reload and retry."""


class AlreadyStarted(GatepostError):
    """A thread of this name exists already; it is continued instead of started again."""


class ContentErased(GatepostError):
    """The content of this thread was erased; ids, times and hashes are what is left of it."""


class SamePerson(GatepostError):
    """Somebody else has to approve this: you requested it yourself."""


class CorruptHistory(GatepostError):
    """What is stored does not fit its own hash; look at `verify` before continuing."""


class ContentAway(GatepostError):
    """The storage of files does not answer or takes nothing; nothing is lost, retry later."""


class CannotDecrypt(GatepostError):
    """A value is encrypted with a key that is not here, or was altered."""


class NoUpgradePath(GatepostError):
    """The code knows no way from the stored state schema to its own."""


class NewerThanCode(GatepostError):
    """The state was written by newer code than this; install that code first."""


class UpgradeFailed(GatepostError):
    """An upgrade of the state schema failed; the state is as it was."""
