"""Agents of other frameworks under control, each in an environment of its own."""
