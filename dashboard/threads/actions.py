"""The plain actions on a thread, in the order of the command's help.

Their calls and the verbs of `threads` are made from this list, and of those that one button of its
page does, the address of the button.
"""

from __future__ import annotations

from typing import Any, Final

from dashboard.kit.action import Action

from .pause import PAUSE, RESUME
from .rename import RENAME
from .retry import RETRY
from .skip import SKIP

BY_BUTTON: Final[tuple[Action[Any, Any], ...]] = (PAUSE, RESUME, RENAME, RETRY)
BY_DIALOG: Final[tuple[Action[Any, Any], ...]] = (SKIP,)
ON_THREAD: Final = (*BY_BUTTON, *BY_DIALOG)
