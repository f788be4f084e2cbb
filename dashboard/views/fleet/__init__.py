"""Pages on many threads at once: breakers, one action for all of a board."""
