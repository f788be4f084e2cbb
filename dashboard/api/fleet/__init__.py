"""Calls about many threads at once: breakers, stuck threads."""
