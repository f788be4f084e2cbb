"""Channels whose changes a hot agent does not buffer: how they are declared; pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Durable:
    """Declares a channel of a hot agent: a step that changes it is committed immediately.

    balance: Annotated[Decimal, Durable()] = Decimal(0)
    """
