"""The top floor and composition root: pages, API, commands, settings."""

import gc

# Nearly all that a process makes while it starts stays; to look for garbage among it after each
# 2,000 objects, as Python does by itself, takes a seventh of the start. Once the applications are
# ready, `DashboardConfig` sets Python's own thresholds again.
THRESHOLDS = gc.get_threshold()
gc.set_threshold(50_000, 20, 20)
