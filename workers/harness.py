"""Former name of `workers.testing.harness`; agents import from `gatepost`."""

from .testing.harness import Approve as Approve
from .testing.harness import AskBack as AskBack
from .testing.harness import Edit as Edit
from .testing.harness import Harness as Harness
from .testing.harness import NotOnTape as NotOnTape
from .testing.harness import Played as Played
from .testing.harness import Reject as Reject
from .testing.harness import Reply as Reply
from .testing.harness import Respond as Respond
from .testing.harness import Rule as Rule
from .testing.harness import Scripted as Scripted
from .testing.harness import Terms as Terms
from .testing.harness import Verdict as Verdict
