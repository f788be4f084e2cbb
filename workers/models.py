"""Former name of `workers.authoring.language_models`; agents import from `gatepost`."""

from .authoring.language_models import COST_BELOW as COST_BELOW
from .authoring.language_models import COST_PLACES as COST_PLACES
from .authoring.language_models import NAME_MAX as NAME_MAX
from .authoring.language_models import NONE_INSTALLED as NONE_INSTALLED
from .authoring.language_models import SETTING as SETTING
from .authoring.language_models import TOKENS_MAX as TOKENS_MAX
from .authoring.language_models import Model as Model
from .authoring.language_models import Reply as Reply
from .authoring.language_models import Request as Request
from .authoring.language_models import missing as missing
from .authoring.language_models import used as used
from .language.configuration import answering as answering
from .language.configuration import configured as configured
