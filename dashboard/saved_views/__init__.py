"""Boards under a name: the address of a board, and the saved views that keep some of them."""
