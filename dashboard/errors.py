"""Refusals of a person's action: an HTTP status, a title, a sentence, a JSON path.

Pages, API and commands show the same refusals. `translated` turns the errors of the floors below
into these; errors of the database pass through.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, ClassVar, Final
from uuid import UUID

from approvals import errors as gates
from checkpoints import errors as ground

# A refusal is an answer to somebody who sent too much already: it is bounded whatever was sent.
FAULTS_MAX: Final = 20
PATH_CHARS: Final = 200
MESSAGE_CHARS: Final = 300
DETAIL_CHARS: Final = 1_000


def clip(text: str, limit: int) -> str:
    """Text of at most `limit` characters; an ellipsis says where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


@dataclass(frozen=True, slots=True)
class Fault:
    """One refused value."""

    path: str
    message: str

    def clipped(self) -> Fault:
        """The same within the bounds of an answer."""
        return Fault(clip(self.path, PATH_CHARS), clip(self.message, MESSAGE_CHARS))


class ActionError(Exception):
    """An action that is refused; `detail` is the sentence for people."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "refused"
    title: ClassVar[str] = "Refused"
    retry_after: int = 0  # seconds, where the same request can succeed later
    # What has to be done once the transaction that it ends was taken back.
    afterwards: Callable[[], None] | None = None

    def __init__(self, detail: str = "", *, path: str = "", **facts: Any) -> None:
        self.detail = clip(detail or self.title, DETAIL_CHARS)
        super().__init__(self.detail)
        self.path = clip(path, PATH_CHARS)
        self.facts = facts


class Malformed(ActionError):
    """The request cannot be read."""

    status, code, title = 400, "malformed", "The request can’t be read"


class Forbidden(ActionError):
    """The person's roles do not allow it."""

    status, code, title = 403, "forbidden", "Not allowed"


class FourEyes(Forbidden):
    """Someone else has to decide: the person has a hand in it; the try is logged."""

    code, title = "four-eyes", "Someone else has to decide"


class NotYours(Forbidden):
    """The request names others who decide it."""

    code, title = "not-yours", "Others decide this"


class NeedsConfirmation(Forbidden):
    """The person has to show once more who they are; facts: confirms (whether they can here)."""

    code, title = "step-up", "Confirm that it is you"

    def __init__(self, detail: str, *, confirms: bool = True) -> None:
        super().__init__(detail, confirms=confirms)


class NeedsSecondFactor(Forbidden):
    """The person must have a second factor here and has none."""

    code, title = "second-factor", "Set up a second factor first"


class NeedsOwnPassword(Forbidden):
    """Somebody else set the person's password, who has to change it first."""

    code, title = "own-password", "Change your password first"


class Missing(ActionError):
    """There is no such thing in the person's workspace."""

    status, code, title = 404, "missing", "Not found"


class Conflict(ActionError):
    """The request does not fit the current state."""

    status, code, title = 409, "conflict", "Not possible now"


class Erased(ActionError):
    """The content of the thread was erased; the sentence says by whom and why."""

    status, code, title = 410, "erased", "Erased"


class OtherWorkspace(Conflict):
    """The request belongs to another workspace than the login acts in; facts: place (id, name).

    `place` is None where the person does not belong to it.
    """

    code, title = "other-workspace", "This page belongs to another workspace"


class NotAllowedNow(Conflict):
    """The thread's status does not allow it; facts: status."""

    code = "not-allowed-now"


class LeaseLost(Conflict):
    """The reporter no longer holds the thread's lease; facts: status, version."""

    code, title = "lease-lost", "The lease was lost"


class Leased(Conflict):
    """Somebody else works on the thread; facts: owner, until."""

    code, title = "leased", "Somebody else works on it"


class PositionTaken(Conflict):
    """Something else is recorded at this position, or under this id."""

    code, title = "position-taken", "Something else is recorded there"


class AlreadyDecided(Conflict):
    """Somebody else was first; facts: approval (the row with the recorded outcome)."""

    code, title = "already-decided", "Already decided"


class ProposalChanged(Conflict):
    """The proposal is not the one the person saw."""

    code, title = "proposal-changed", "The proposal has changed"


class DecidedAlone(Conflict):
    """The request needs a look of its own: no verdict is taken together with others."""

    code, title = "decided-alone", "Must be decided on its own"


class NeedsSecondPerson(ActionError):
    """A policy lets somebody else decide first; facts: approval (the request), url (its page)."""

    status, code, title = 202, "second-person", "Needs a second person"

    def __init__(self, approval: UUID, url: str) -> None:
        message = f"This needs a second person, who has been asked: {url}"
        super().__init__(message, approval=str(approval), url=url)


class BlockedByPolicy(Forbidden):
    """A policy refuses it to everybody; facts: approval (its record), url (the record's page).

    `record` writes the record once more where it went with a transaction.
    """

    code, title = "blocked-by-policy", "A policy blocks this"

    def __init__(self, detail: str, approval: UUID, url: str, record: Callable[[], None]) -> None:
        super().__init__(detail, approval=str(approval), url=url)
        self.afterwards = record


class NeedsSecondAdmin(ActionError):
    """Another admin has to confirm it first; facts: change (what waits), url (its page)."""

    status, code, title = 202, "second-admin", "Waiting for another admin"

    def __init__(self, change: UUID, url: str) -> None:
        message = (
            f"Another admin has to confirm this at {url}; until then nothing changes. "
            "Where there is none, the person who runs the installation does it by command."
        )
        super().__init__(message, change=str(change), url=url)


class VotedAlready(Conflict):
    """One person counts once; others are missing."""

    code, title = "voted-already", "You have already approved this"


class NothingToTakeBack(Conflict):
    """The decision counts already, or is somebody else's."""

    code, title = "nothing-to-take-back", "Nothing to undo"


class StillWorking(Conflict):
    """The same call was sent before and is not done yet."""

    code, title = "still-working", "Still in progress"
    retry_after = 1

    def __init__(self) -> None:
        super().__init__("The same call is still being worked on; send it again in a moment.")


class StorageAway(ActionError):
    """The storage of files does not answer, or takes nothing: full, read-only, not mounted."""

    status, code, title = 503, "storage-away", "The file storage is unavailable"
    retry_after = 30


class Stale(ActionError):
    """The thread moved since the person looked; facts: version, status."""

    status, code, title = 412, "stale", "Changed in the meantime"


class Busy(ActionError):
    """The site has its hands full with such requests; the same one can succeed soon."""

    status, code, title = 503, "busy", "Busy"
    retry_after = 5


class NotInstalled(ActionError):
    """An extra is missing."""

    status, code, title = 501, "not-installed", "Not installed"


class Invalid(ActionError):
    """Values are refused; `faults` lists the first FAULTS_MAX of them, `path` names the first.

    Where there are more, a last fault of the whole value says how many.

    `within` is the parameter that the paths start in ("input", "changes"), empty where they name
    parameters themselves.
    """

    status, code, title = 422, "invalid", "A value was refused"

    def __init__(
        self,
        path: str,
        message: str,
        *,
        within: str = "",
        faults: Iterable[Fault] = (),
        **facts: Any,
    ) -> None:
        self.within = within
        self.faults = _bounded(faults or (Fault(path, message),))
        self.reason = message = clip(message, MESSAGE_CHARS)
        super().__init__(f"{path}: {message}", path=path, **facts)

    @classmethod
    def of(cls, faults: Iterable[Fault], *, within: str = "") -> Invalid:
        """One refusal for several faults; the first is its headline."""
        rest = iter(faults)
        first = next(rest)
        return cls(first.path, first.message, within=within, faults=chain((first,), rest))

    @property
    def request_path(self) -> str:
        """The path from the root of the request: `$.input.goal`."""
        return rooted(self.path, self.within)


def _bounded(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """The first FAULTS_MAX faults, and how many more there are."""
    rest = iter(faults)
    shown = tuple(fault.clipped() for fault in islice(rest, FAULTS_MAX))
    n_more = sum(1 for _ in rest)
    return (*shown, Fault("$", f"and {n_more:,} more")) if n_more else shown


class TooLarge(Invalid):
    """More bytes than are taken."""

    status, code, title = 413, "too-large", "Too large"


class KeyReused(Invalid):
    """The Idempotency-Key was sent before, with something else."""

    code, title = "key-reused", "The key belongs to another call"

    def __init__(self, call: str) -> None:
        message = f"was sent before with another body or address ({call}); take a new one"
        super().__init__("Idempotency-Key", message)


def rooted(path: str, within: str) -> str:
    """A path inside a parameter as a path from the root of the request."""
    return f"$.{within}{path[1:]}" if within and path.startswith("$") else path


_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


def no_room(error: BaseException | None) -> StorageAway | None:
    """The refusal where a disk of this machine takes nothing, such as what an upload passes on."""
    if not isinstance(error, OSError) or error.errno not in _NO_ROOM:
        return None
    return StorageAway(f"The server takes no files: {os.strerror(error.errno)}.")


def of(error: ground.GatepostError, *, within: str = "") -> ActionError:
    """The refusal for an error of a lower floor."""
    match error:
        case ground.InvalidValue():
            path = error.path if error.path.startswith("$") else f"$.{error.path}"
            return Invalid(path, error.reason, within=within)
        case ground.NotFound():
            return Missing(error.message)
        case ground.ConcurrentModificationError():
            return Stale(error.message, **error.facts)
        case ground.ContentAway():
            return StorageAway(error.message)
        case ground.ContentErased():
            return Erased(error.message)
        case ground.SamePerson():
            return FourEyes(error.message)
        case ground.NotAllowedNow():
            return NotAllowedNow(error.message, **error.facts)
        case gates.AlreadyDecided():
            return AlreadyDecided(error.message, approval=error.row)
        case gates.ProposalChanged():
            return ProposalChanged(error.message)
        case gates.FourEyes():
            return FourEyes(error.message)
        case gates.NotYours():
            return NotYours(error.message)
        case gates.VotedAlready():
            return VotedAlready(error.message)
        case gates.NothingToTakeBack():
            return NothingToTakeBack(error.message)
        case gates.VerdictRefused():
            return Invalid("$.verdict", error.message)
    return Conflict(error.message)


@contextmanager
def translated(within: str = "") -> Iterator[None]:
    """Turn the errors of lower floors into ActionErrors; also usable as a decorator."""
    try:
        yield
    except ground.GatepostError as error:
        raise of(error, within=within) from error
