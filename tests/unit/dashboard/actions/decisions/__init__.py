"""Deciding, through every way in."""
