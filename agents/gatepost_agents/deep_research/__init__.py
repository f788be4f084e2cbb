"""The agent that answers a question from the documentation and sources of installed packages.

Everything but `agent` and `state` knows nothing of the engine: paths and JSON-safe values go in,
JSON-safe values come out.
"""
