"""Words about many threads at once."""
