"""The places that an agent may choose for contents, by name; imports nothing, as authors do."""

from collections.abc import Mapping
from typing import Final

DATABASE: Final = "database"
FILE: Final = "file"
KINDS: Final = (DATABASE, FILE)
# A value of at least this many bytes is stored by reference.
LIMITS: Final[Mapping[str, int]] = {DATABASE: 16 * 1024, FILE: 1024}
