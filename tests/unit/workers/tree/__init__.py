"""Agents that start others: the engine in this process, on the real store."""
