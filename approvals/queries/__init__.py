"""The only reader of requests for approval for upper floors: frozen dataclasses."""

from .guards import GUARDS
from .open_requests import OPEN_CAP, first_open, inbox_mark, open_count, open_ids, overdue
from .requests import (
    WordsRow,
    approval,
    approvals,
    at_step,
    by_id,
    decided_before,
    for_thread,
    in_workspace,
    next_step_asked,
    unsettled,
    votes,
    words_in_thread,
)
from .rows import ApprovalRow, requests
