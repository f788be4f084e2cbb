"""The agents that ship with Gatepost, and the test bank."""
