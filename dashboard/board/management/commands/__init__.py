"""Commands of the board."""
