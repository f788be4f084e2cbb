"""Refusals of the gate; the docstring of a class is the text that people get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checkpoints.errors import GatepostError

if TYPE_CHECKING:
    from .queries import ApprovalRow


class AlreadyDecided(GatepostError):
    """Somebody has decided this request before you."""

    def __init__(self, row: ApprovalRow) -> None:
        if row.status == "expired":
            message = "This request expired before your answer arrived."
        elif row.status == "withdrawn":
            message = "This request was withdrawn; there is nothing left to decide."
        else:
            who = row.decided_by_name or row.decided_by
            message = f"{who} already decided this request: {row.outcome}."
        super().__init__(message)
        self.row = row


class ProposalChanged(GatepostError):
    """This request changed since you opened it; look at it again before you decide."""


class VerdictRefused(GatepostError):
    """This verdict is not possible for this request."""


class NotYours(GatepostError):
    """Others have to decide this request."""


class FourEyes(NotYours):
    """You have a hand in this yourself, so somebody else has to decide it; the try is logged."""


class VotedAlready(GatepostError):
    """You have already approved this, and one person counts once; others are still missing."""


class NothingToTakeBack(GatepostError):
    """There is no decision that could still be taken back."""
