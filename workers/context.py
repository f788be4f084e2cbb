"""Former name of `workers.node.context`; agents import from `gatepost`."""

from .node.context import PROGRESS_KEEP_SECONDS as PROGRESS_KEEP_SECONDS
from .node.context import Context as Context
from .node.context import current as current
from .node.context import cursor as cursor
from .node.context import progress as progress
