"""Spend caps: how much threads may spend before they pause."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Final, Literal, Self
from uuid import UUID

from pydantic import Field

from approvals.policies import changes
from approvals.policies import queries as policies
from approvals.policies.changes import MAX_COST
from approvals.policies.queries import CapRow
from checkpoints.limits import AGENT_MAX
from checkpoints.states import WorkspaceEventKind
from dashboard.documents.state_shape import Shape
from dashboard.fields.shapes import Field as FormField
from dashboard.fields.shapes import Option
from dashboard.fields.typed_values import without_thousands
from dashboard.identity.permissions import Actor, require
from dashboard.kit.action import Action, read
from dashboard.kit.command import listing, off_verb, show_row, verb
from dashboard.kit.inputs import declared, from_texts
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.terminal.tables import Table, table


# The row has a decimal; here the amount is text, as programs read it.
class Cap(Shape):
    """A limit on what threads may spend before they pause."""

    id: UUID
    scope: str
    agent: str
    per: str
    max_cost: str
    active: bool

    @classmethod
    def of(cls, row: CapRow) -> Self:
        """The row for the wire."""
        names = cls.model_fields.keys() - {"max_cost"}
        return cls(max_cost=row.plain, **{name: getattr(row, name) for name in names})


class CapList(Shape):
    """All spend caps."""

    results: list[Cap]


class SetCap(RequestShape):
    """A spend cap; the one of this scope, agent and span is replaced."""

    scope: Literal["thread", "agent", "workspace"] = Field(
        description="What the cap applies to: each thread, all threads of an agent, or the "
        "workspace."
    )
    per: Literal["total", "day"]
    max_cost: str = Field(
        description="A decimal string such as 12.50.",
        json_schema_extra={"pattern": f"^{MAX_COST.pattern}$"},
    )
    agent: Annotated[str, Field(max_length=AGENT_MAX)] = Field(
        default="", description="Empty: the cap holds for each agent."
    )
    active: bool = True


def caps(actor: Actor) -> CapList:
    """All spend caps, also those that are switched off."""
    require(actor, "read")
    return CapList(results=[Cap.of(row) for row in policies.caps(actor.workspace)])


def set_cap(actor: Actor, wanted: SetCap) -> Cap:
    """Make or change a spend cap, or switch it off."""
    return Cap.of(changes.set_cap(actor.workspace, actor=actor.id, **wanted.model_dump()))


def _sentence(_: SetCap, cap: Cap) -> str:
    if not cap.active:
        return "The spend cap is switched off."
    return f"The spend cap is {policies.money(Decimal(cap.max_cost))} now."


SET: Final = Action(
    name="cap.set",
    right="policy",
    takes=SetCap,
    answers=Cap,
    perform=set_cap,
    events=(WorkspaceEventKind.CAP_CHANGED,),
    summary="Make or change a spend cap",
    description="One per scope, agent and span.",
    help="makes or changes a spend cap",
    done=_sentence,
    examples="cap set thread total 5\ncap set agent day 100 --agent market-research",
)
CAPS: Final = reading(
    "caps_list",
    CapList,
    caps,
    summary="List spend caps",
    description="Those that are switched off included.",
)

# What people read for the values of a choice.
CHOICES: Final[Mapping[str, Sequence[Option]]] = {
    "scope": (
        Option("thread", "Each thread with its family tree"),
        Option("agent", "All threads of an agent"),
        Option("workspace", "The workspace"),
    ),
    "per": (Option("total", "In total"), Option("day", "Each day")),
    "active": (Option("true", "On"), Option("false", "Off")),
}


def form_of(texts: Mapping[str, str], problems: Mapping[str, str]) -> dict[str, FormField]:
    """The inputs of the page's form, with what was written."""
    return declared(SetCap, [*SetCap.model_fields], texts, problems, CHOICES)


def set_by_form(actor: Actor, texts: Mapping[str, str]) -> str:
    """Set a cap as the page's form says; what was done, in a sentence."""
    amount = without_thousands(texts.get("max_cost", "").strip())
    wanted = read(SetCap, from_texts(SetCap, {**texts, "max_cost": amount}))
    return SET.done(wanted, SET.run(actor, wanted))


# --- command --------------------------------------------------------------------------------------


def _table(shown: list[Cap]) -> Table:
    return table(
        "",
        ("scope", "agent", "per", "at most", "is"),
        (
            (c.scope, c.agent or "each", c.per, c.max_cost, "on" if c.active else "off")
            for c in shown
        ),
    )


def _key_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scope", choices=("thread", "agent", "workspace"), help="whose spending")
    parser.add_argument("per", choices=("total", "day"))
    parser.add_argument("--agent", default="", help="else the cap holds for each agent")


VERBS: Final = (
    listing(
        "lists spend caps",
        "read",
        caps,
        _table,
        empty="There is no spend cap: threads may spend without limit.",
    ),
    verb(
        SET,
        show_row(_table),
        names={"scope": ("scope",), "per": ("per",), "max_cost": ("max_cost", "AMOUNT")},
        without=("active",),
    ),
    off_verb(
        SET,
        caps,
        show_row(_table),
        _key_arguments,
        key=("scope", "agent", "per"),
        does="switches a spend cap off",
        missing="There is no such spend cap; `cap list` shows them.",
        example="cap off thread total",
    ),
)
