"""How the agents ask a model where there is one."""
