"""Buffered steps: a stream of the hot store for each thread, until the store has drained it."""
