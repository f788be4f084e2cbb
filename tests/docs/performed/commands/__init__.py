"""The how-to of commands: its lines and what they need."""
