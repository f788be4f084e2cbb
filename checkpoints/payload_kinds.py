"""The places that an agent may choose for contents, by name; imports nothing, as authors do."""

from collections.abc import Mapping
from typing import Final

DATABASE: Final = "database"
FILE: Final = "file"
KINDS: Final = (DATABASE, FILE)
# By the size of each value: what agents with `durability="hot"` get where they choose nothing.
BY_SIZE: Final = "by size"
# A value of at least this many bytes is stored by reference.
LIMITS: Final[Mapping[str, int]] = {DATABASE: 16 * 1024, FILE: 1024}
# One that is placed by its size lies in a file from here on.
LARGE_BYTES: Final = 256 * 1024
