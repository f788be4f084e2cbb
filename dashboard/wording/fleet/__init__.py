"""Words about many threads."""
