"""How the agents that ship ask a model where there is one, and what they do with its citations."""
