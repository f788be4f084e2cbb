"""Former name of `workers.authoring.tools`; agents import from `gatepost`."""

from .authoring.tools import Gate as Gate
from .authoring.tools import Tool as Tool
from .authoring.tools import tool as tool
