"""Former name of `workers.authoring.graph`; agents import from `gatepost`."""

from .authoring.graph import END as END
from .authoring.graph import Append as Append
from .authoring.graph import Custom as Custom
from .authoring.graph import Decimal as Decimal
from .authoring.graph import Gate as Gate
from .authoring.graph import Graph as Graph
from .authoring.graph import LastValue as LastValue
from .authoring.graph import Merge as Merge
from .authoring.graph import Node as Node
from .authoring.graph import Retry as Retry
from .authoring.graph import RetryLater as RetryLater
from .authoring.graph import State as State
from .authoring.graph import Sum as Sum
from .authoring.graph import Tool as Tool
from .authoring.graph import Upgrades as Upgrades
from .authoring.graph import Way as Way
from .authoring.graph import plain as plain
from .authoring.graph import tool as tool
