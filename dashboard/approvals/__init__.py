"""Requests for approval: how they are read, and what people do about them, an action a file."""
