"""The one list of what a request can be and what people can say to it; no ORM.

Everything else takes its words from here; a test refuses a second list. SQL may name them: the
same test compares.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

Risk = Literal["low", "medium", "high"]
RISKS: Final[tuple[str, ...]] = get_args(Risk)  # ascending
DEFAULT_RISK: Final[Risk] = "medium"

STATUSES: Final = ("pending", "held", "settled", "expired", "withdrawn")
# What can still come to nothing: nobody has decided, or the decision can be taken back.
UNSETTLED: Final = ("pending", "held")
DECIDED: Final = ("held", "settled")

# What a request before an effect takes, in the order of the buttons; beside these the record of
# decisions knows one that is no answer to a request.
ANSWERS: Final = ("approve", "edit", "respond", "reject")
VERDICTS: Final = (*ANSWERS, "take_back")
ALLOWING: Final = ("approve", "edit")  # the effect may happen
YES_OR_NO: Final = ("approve", "reject")
WITHOUT_EFFECT: Final = ("respond", "reject")  # what a question takes
WITH_ARGS: Final = ("edit", "respond")

# What happens to the thread after a rejection; empty: as for GO_ON.
WhatNext = Literal["", "go_on", "stop", "roll_back"]
WHAT_NEXT: Final[tuple[str, ...]] = get_args(WhatNext)
GO_ON: Final = "go_on"
STOP: Final = "stop"
ROLL_BACK: Final = "roll_back"

# What a policy says that rejects after the deadline; one that blocks says that it does.
NOBODY: Final = "Nobody decided before the deadline."

COMMENT_MAX: Final = 5_000  # characters
