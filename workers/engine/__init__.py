"""The engine: a leased thread, step by step, from opening to commit."""
