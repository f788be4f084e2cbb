"""Doorbells: messages that wake a worker for a thread, and their transport."""
