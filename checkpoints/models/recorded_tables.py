"""The tables of the ground floor, and Django's users, whose rows the log of a workspace records."""

from django.contrib.auth import get_user_model

from ..log import recorded
from . import Breaker, Budget, BudgetBand, Erased, Erasure, Hold, Memory, RetentionRule, Workspace

# A team is a group; people are asked and mailed by its name.
_TEAMS = (
    "(SELECT string_agg(g.name, ', ' ORDER BY g.name COLLATE \"C\") FROM auth_user_groups ug "
    "JOIN auth_group g ON g.id = ug.group_id WHERE ug.user_id = t.id)"
)

# Salted, so that nothing of a text can be told from the log once it is forgotten.
_CONTENT = (
    "encode(sha256(t.salt || convert_to(t.text || chr(10) || t.metadata::text, 'UTF8')), 'hex')"
)


def register() -> None:
    """Put them on record."""
    recorded.register(
        Workspace,
        noun="workspace",
        label="name",
        of="id",
        # The end of its log, which the chain itself proves.
        leaves_out=("chain_id", "last_seq", "last_hash", "prev_hash", "last_at"),
    )
    recorded.register(Breaker, noun="breaker", label="reason")
    recorded.register(Erasure, noun="erasure", label="reason")
    recorded.register(Erased, noun="erased thread", label="remains")
    recorded.register(Hold, noun="legal hold", label="reason")
    recorded.register(RetentionRule, noun="retention rule", label="agent")
    recorded.register(Budget, noun="budget", label="name")
    recorded.register(
        Memory,
        noun="memory",
        label="kind",
        leaves_out=("text", "metadata", "salt", "key"),
        also={"content": _CONTENT},
    )
    recorded.register(BudgetBand, noun="part of a budget", label="month")
    recorded.register(
        get_user_model(),
        noun="user",
        label="username",
        of="",
        secrets=("password", "email"),
        # What a person is called may have to be erased; each sign-in writes its time.
        leaves_out=("first_name", "last_name", "date_joined", "last_login"),
        also={"teams": _TEAMS},
    )
