"""The agents that ship, killed in the middle of their work."""
