"""Agents of the bench: trivial nodes, so that the engine is what is measured."""
