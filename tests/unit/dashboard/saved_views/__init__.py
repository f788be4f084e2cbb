"""Boards under a name: their addresses, who may change them, what their chips count."""
