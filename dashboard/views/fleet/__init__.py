"""Pages on many threads at once: one action for all of a board."""
