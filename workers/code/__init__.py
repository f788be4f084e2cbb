"""Which code an agent consists of, and the agents that are installed."""
