"""Decisions on a thread that stopped: other code, unknown effects, nodes to skip."""
