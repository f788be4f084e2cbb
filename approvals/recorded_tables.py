"""The tables of floor 1 whose rows the log of the workspace records, so that `verify` sees them."""

from checkpoints.log import recorded

from .incidents.responses import CLOSED_AT, UNTOUCHED
from .models import (
    Deputy,
    Endpoint,
    Hook,
    HookIdentity,
    Incident,
    Policy,
    PolicyVersion,
    PushDevice,
    QuietHours,
    SpendCap,
    Subscription,
)


def register() -> None:
    """Put them on record."""
    recorded.register(Policy, noun="policy", label="name")
    recorded.register(PolicyVersion, noun="policy version", label="condition")
    recorded.register(SpendCap, noun="spend cap", label="scope")
    recorded.register(
        Hook,
        noun="hook",
        label="name",
        secrets=("secrets",),
        # Counted by the endpoint once a minute, and nothing is decided by it.
        leaves_out=("refused", "refused_at"),
    )
    recorded.register(HookIdentity, noun="outside identity", label="identity")
    recorded.register(
        Endpoint,
        noun="endpoint",
        label="name",
        # A chat's address is a secret; that of a mail is a person's, and the log is for ever.
        secrets=("secrets", "address", "target"),
    )
    recorded.register(Deputy, noun="deputy", label="person")
    recorded.register(
        PushDevice, noun="device", label="name", secrets=("address", "p256dh", "auth")
    )
    recorded.register(Subscription, noun="subscription", label="person")
    recorded.register(QuietHours, noun="quiet hours", label="person")
    # Made, counted, closed and dropped by the sweep: on record is what people do about it.
    recorded.register(
        Incident, noun="incident", label="id", untouched=UNTOUCHED, also={"closed_at": CLOSED_AT}
    )
