"""Property tests of this folder have no deadline: a busy machine is not a defect."""

from hypothesis import settings

settings.register_profile("gatepost", deadline=None)
settings.load_profile("gatepost")
