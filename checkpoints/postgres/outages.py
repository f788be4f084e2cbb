"""What an error of the database means to those who wait for it: an outage, or a refused value."""

from __future__ import annotations

from typing import Final

from django.db import DatabaseError, InterfaceError, OperationalError

from gatepost_command import COMMAND

AWAY: Final = "The database does not answer; try again."
# By SQLSTATE.
_OUTAGES: Final = {
    "53100": "The database's disk is full. Nothing can be stored until there is space again.",
    "53200": "The database is out of memory; try again in a moment.",
    "53300": "The database accepts no more connections now; try again in a moment.",
    "25006": "The database is read-only now, as a standby is; try again in a moment.",
    "55P03": "Somebody else is changing this right now; try again.",
    "57014": "The database took too long; try again, if possible with less.",
    "40P01": "Two changes stood in each other's way; try again.",
    "42501": f"The database login lacks a right that this code needs: run `{COMMAND} doctor`.",
    "42P01": f"The database lacks a table that this code needs: run `{COMMAND} migrate`.",
    "42703": f"The database lacks a column that this code needs: run `{COMMAND} migrate`.",
    "42883": f"The database lacks a function that this code needs: run `{COMMAND} migrate`.",
}
# Data exceptions, integrity violations and exceeded limits of a statement: another try ends alike.
_REFUSING: Final = ("22", "23", "54")


def sqlstate(error: BaseException) -> str:
    """PostgreSQL's code for a Django or psycopg error; empty where the connection itself failed."""
    for each in (error, error.__cause__):
        code = getattr(each, "sqlstate", None)
        if code:
            return str(code)
    return ""


def is_outage(error: BaseException | None) -> bool:
    """Answer True if the database is away or cannot store anything now, whatever was sent."""
    if not isinstance(error, DatabaseError | InterfaceError):
        return False
    return isinstance(error, OperationalError | InterfaceError) or sqlstate(error) in _OUTAGES


def refuses_value(error: BaseException) -> bool:
    """Answer True if the database refuses the value itself: sending it again is of no use."""
    return sqlstate(error)[:2] in _REFUSING


def outage(error: BaseException) -> str:
    """The sentence for people about an error that `is_outage`."""
    return _OUTAGES.get(sqlstate(error), AWAY)
