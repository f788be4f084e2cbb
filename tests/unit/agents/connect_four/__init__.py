"""The agent that plays connect four against itself."""
