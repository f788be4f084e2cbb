"""The agent of the demo that is at work for hours: one day of a long table, a pause, the next day.

`days` knows nothing of the engine: a path goes in, JSON-safe values come out.
"""
