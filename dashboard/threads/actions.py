"""The actions on a thread that one button of its page does, in the order of the command's help.

Their calls, the verbs of `threads` and the addresses of their buttons are made from this list.
"""

from __future__ import annotations

from typing import Any, Final

from dashboard.kit.action import Action

from .pause import PAUSE, RESUME
from .rename import RENAME
from .retry import RETRY

BY_BUTTON: Final[tuple[Action[Any, Any], ...]] = (PAUSE, RESUME, RENAME, RETRY)
