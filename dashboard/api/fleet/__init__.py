"""Calls about many threads at once: stuck threads, incidents."""
