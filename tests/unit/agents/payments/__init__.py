"""The payments agent: reading, checks, mail, and the whole agent against a real bank."""
