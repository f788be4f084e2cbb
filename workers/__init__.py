"""Floor 2: agents at work."""
