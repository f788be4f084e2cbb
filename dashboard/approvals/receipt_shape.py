"""The receipts of a proposal as one document: for page and API."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from dashboard.documents.state_shape import Shape


class ReceiptValue(Shape):
    """The source of one value of a proposal; `note` says what speaks against it, if anything."""

    path: str = Field(description="The value's place in the proposal, as `$.payments[3].amount`.")
    origin: Literal["recorded", "computed", "person", "agent", "unread"] = Field(
        description="`recorded`: it stands in the output of a recorded call; `computed`: it is the "
        "sum or the number of values that do; `person`: a person entered it; `agent`: only the "
        "agent's own words have it; `unread`: a long text that only an output too large to be "
        "scanned can hold."
    )
    source: str = Field(description="Where it stands, in words; empty of the agent's own.")
    by: str = Field(description="The person's name; empty where it is not a person's.")
    activity: UUID | None = Field(description="The recorded call whose output has it.")
    thread: UUID | None
    checkpoint: int | None = Field(
        description="The number of the checkpoint that holds that call, or that the person wrote; "
        "null where none does yet."
    )
    event: int | None = Field(description="The number of the event that recorded the call.")
    source_path: str = Field(description="The value's place in the output or the file.")
    url: str = Field(description="The page that shows it.")
    count: int = Field(description="Of a computed value: how many values it is made of.")
    lines: list[str] = Field(description="Of a computed value: the first 20 of the proposal's own.")
    note: str


class ProposalReceipts(Shape):
    """The sources of a proposal's values, by strict comparison with the record.

    The four numbers count the values of each origin but `unread`; `more` values were not looked at.
    """

    summary: str
    unread: str = Field(description="What was not compared, in a sentence; empty where all was.")
    recorded: int
    computed: int
    people: int
    agent: int
    more: int
    values: list[ReceiptValue]

    def by_path(self) -> dict[str, Any]:
        """{path: its value}."""
        return {value.path: value for value in self.values}
