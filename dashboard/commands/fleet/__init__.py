"""Commands about many threads at once."""
