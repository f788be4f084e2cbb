"""Pydantic AI: its engine, its deferred calls, the how-to."""
