"""The agents that audit dependencies: one looks at one package, one leads it over all of them.

`lock_files`, `facts`, `licences`, `age`, `files`, `findings` and `report` know nothing of the
engine: paths and JSON-safe values go in, JSON-safe values come out.
"""
