"""Workers that are killed, frozen, starved or replaced while they work."""
