"""Former name of `workers.authoring.errors`; agents import from `gatepost`."""

from .authoring.errors import Asleep as Asleep
from .authoring.errors import Expired as Expired
from .authoring.errors import GateReached as GateReached
from .authoring.errors import GraphError as GraphError
from .authoring.errors import Halted as Halted
from .authoring.errors import HandBack as HandBack
from .authoring.errors import OutsideActivity as OutsideActivity
from .authoring.errors import Parked as Parked
from .authoring.errors import Refused as Refused
from .authoring.errors import Rejected as Rejected
from .authoring.errors import StepFailed as StepFailed
from .authoring.errors import Stop as Stop
