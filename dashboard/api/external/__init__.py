"""The calls of agents that work elsewhere."""
