"""The calls of agents that work elsewhere, as any client makes them."""
