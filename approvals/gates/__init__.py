"""The only writer of approvals: request, decide, withdraw, expire.

The server holds the proposal; people see it and name it by its hash.
"""

from .deciding import COMMENT_MAX, Reviewer, check_verdict, decide, expire_due, withdraw_open
from .importing import import_requests
from .looking import note_look
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
    "note_look",
    "proposal_hash",
    "request",
    "request_seal",
    "withdraw_open",
]
