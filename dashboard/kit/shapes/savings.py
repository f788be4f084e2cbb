"""The savings of resuming, of a thread and of a workspace."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Saved(BaseModel):
    """Work that was not done again after faults, which a restart from the input would have done.

    `resumes` are the faults after which something recorded was there, `calls` those of activities,
    effects and models together, `milliseconds` what they took, `cost` in dollars: that of all
    but `unpriced_calls`, which a model without a known price answered.
    """

    model_config = ConfigDict(from_attributes=True)

    resumes: int
    calls: int
    model_calls: int
    tokens: int
    cost: str
    milliseconds: int
    unpriced_calls: int
