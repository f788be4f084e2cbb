"""Policies and spend caps: conditions, matches, previews and changes."""
