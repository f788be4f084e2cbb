"""Talking with an agent: the socket that takes utterances and plays them back, and its page."""
