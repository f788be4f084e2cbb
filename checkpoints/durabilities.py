"""How durable the threads of an agent are, by name; imports nothing, as authors do."""

from typing import Final, Literal

DURABLE: Final = "durable"
HOT: Final = "hot"
EPHEMERAL: Final = "ephemeral"
Durability = Literal["durable", "hot", "ephemeral"]
DURABILITIES: Final = (DURABLE, HOT, EPHEMERAL)
# Seconds after its last turn that the state of an ephemeral thread can still be read.
TTL_DEFAULT: Final = 3600
TTL_MAX: Final = 30 * 24 * 3600
# Sentences for people about ephemeral threads, one for each place where history would stand.
NOT_KEPT: Final = "Not kept: this agent keeps nothing after it ends."
SEND_AGAIN: Final = "This agent keeps nothing. Send the message again."
FORGOTTEN: Final = (
    "The state of this thread is no longer in memory: this agent keeps nothing. Start a new thread."
)
