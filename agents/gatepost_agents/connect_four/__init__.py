"""Connect four against itself: a series of games of thousands of small steps, on the hot store.

`board`, `search` and `report` know nothing of the engine.
"""
