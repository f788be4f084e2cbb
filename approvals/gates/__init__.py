"""The only writer of approvals: request, decide, withdraw, expire.

The server holds the proposal; people see it and name it by its hash.
"""

from .deciding import (
    COMMENT_MAX,
    Reviewer,
    check_verdict,
    decide,
    expire_due,
    settle_due,
    take_back,
    withdraw_open,
)
from .importing import import_requests
from .proposals import REQUEST, Proposal, decision_content, proposal_hash, request_seal
from .requesting import request

__all__ = [
    "COMMENT_MAX",
    "REQUEST",
    "Proposal",
    "Reviewer",
    "check_verdict",
    "decide",
    "decision_content",
    "expire_due",
    "import_requests",
    "proposal_hash",
    "request",
    "request_seal",
    "settle_due",
    "take_back",
    "withdraw_open",
]
