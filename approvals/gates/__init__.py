"""The only writer of approvals: request, decide, take back, settle, withdraw, expire.

The server holds the proposal; people see it and name it by its hash.
"""

from ..rules.proposals import Proposal, decision_content, proposal_hash, request_seal
from .deadlines import expire_due, is_anything_due
from .decide import decide, note_refusal
from .decided_days import fold_decisions
from .first_looks import note_look
from .imports import import_requests
from .policy_approvals import decide_by_policy, request
from .reminders import remind_due
from .undo_window import settle_due, take_back
from .verdict.judgement import (
    Reviewer,
    begin,
    by_deputy,
    check_verdict,
    verdicts_of,
    window_of,
)
from .verdict.outcomes import withdraw_open
from .verdict.tallies import tally_due
