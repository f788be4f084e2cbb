"""How durable the threads of an agent are, by name; imports nothing, as authors do."""

from typing import Final, Literal

DURABLE: Final = "durable"
HOT: Final = "hot"
EPHEMERAL: Final = "ephemeral"
Durability = Literal["durable", "hot", "ephemeral"]
DURABILITIES: Final = (DURABLE, HOT, EPHEMERAL)
# Where a step of a hot agent has to be before it counts as acknowledged: on the disk of the hot
# store, in PostgreSQL, or in a hot store that flushes once a second.
BUFFERED: Final = "buffered"
EVERYSEC: Final = "everysec"
Acknowledge = Literal["buffered", "durable", "everysec"]
ACKNOWLEDGEMENTS: Final = (BUFFERED, DURABLE, EVERYSEC)
# Sentences for people about agents that acknowledge so.
MAY_LOSE: Final = (
    "Up to about two seconds of steps that were acknowledged may be lost when the hot store or its "
    "machine stops suddenly."
)
# Seconds after its last turn that the state of an ephemeral thread can still be read.
TTL_DEFAULT: Final = 3600
TTL_MAX: Final = 30 * 24 * 3600
# Sentences for people about ephemeral threads, one for each place where history would stand.
NOT_KEPT: Final = "Not kept: this agent keeps nothing after it ends."
SEND_AGAIN: Final = "This agent keeps nothing. Send the message again."
FORGOTTEN: Final = (
    "The state of this thread is no longer in memory: this agent keeps nothing. Start a new thread."
)
