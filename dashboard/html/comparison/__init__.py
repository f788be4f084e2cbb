"""Compares two checkpoints, branches or threads: their states, and where their contents part."""
